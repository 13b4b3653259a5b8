/* SPDX-License-Identifier: GPL-2.0-only */
/* The counter and the ring of samples. */
#ifndef PAGEMIX_SAMPLES_H
#define PAGEMIX_SAMPLES_H

#include <linux/timex.h>
#include <linux/types.h>
#if IS_ENABLED(CONFIG_X86)
#include <asm/msr.h>
#include <asm/tsc.h>
#endif

#include "pagemix.h"

struct vm_area_struct;

/**
 * struct pagemix_ring - samples that user space maps
 * @v:        vmalloc_user() memory, NULL before it is made
 * @capacity: samples it holds
 * @bytes:    its size, whole pages
 */
struct pagemix_ring {
	struct pagemix_sample *v;
	u64 capacity;
	u64 bytes;
};

/*
 * Ordered reads: arm64's read of CNTVCT_EL0 has an ISB before and a barrier
 * after it; a bare RDTSC could run ahead of the operation.
 */
static inline u64 pagemix_counter(void)
{
#if IS_ENABLED(CONFIG_X86)
	return rdtsc_ordered();
#else
	return get_cycles();
#endif
}

u64 pagemix_counter_hz(void);
u64 pagemix_counter_step(void);

int pagemix_ring_make(struct pagemix_ring *ring, u64 capacity);
int pagemix_ring_mmap(struct pagemix_ring *ring, struct vm_area_struct *vma);
void pagemix_ring_free(struct pagemix_ring *ring);

#endif /* PAGEMIX_SAMPLES_H */
