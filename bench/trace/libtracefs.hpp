// SPDX-License-Identifier: Apache-2.0
// <tracefs/tracefs.h> for C++. The header itself (1.6) is C only: without
// extern "C", and its inline functions pass 0 for an enumeration. What is
// declared here is what is used, as in the library's manual pages.
#pragma once

#include <sched.h>

#include <cstddef>

extern "C" {
#include <traceevent/event-parse.h>

struct tracefs_instance;

tracefs_instance* tracefs_instance_create(const char* name);
int tracefs_instance_destroy(tracefs_instance* instance);
void tracefs_instance_free(tracefs_instance* instance);
char* tracefs_instance_get_dir(tracefs_instance* instance);
void tracefs_put_tracing_file(char* name);
int tracefs_instance_file_write(tracefs_instance* instance, const char* file, const char* text);
int tracefs_instance_file_append(tracefs_instance* instance, const char* file, const char* text);
int tracefs_instance_file_open(tracefs_instance* instance, const char* file, int mode);
int tracefs_instance_set_buffer_size(tracefs_instance* instance, std::size_t kib, int cpu);
int tracefs_trace_off(tracefs_instance* instance);
int tracefs_trace_on_fd(int fd);
int tracefs_trace_off_fd(int fd);
int tracefs_event_enable(tracefs_instance* instance, const char* system, const char* event);
int tracefs_event_disable(tracefs_instance* instance, const char* system, const char* event);
tep_handle* tracefs_local_events_system(const char* folder, const char* const* systems);
int tracefs_iterate_raw_events(tep_handle* tep, tracefs_instance* instance, cpu_set_t* cpus,
                               int cpu_size, int (*callback)(tep_event*, tep_record*, int, void*),
                               void* context);
}
