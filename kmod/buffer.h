/* SPDX-License-Identifier: GPL-2.0-only */
/* A buffer of the heap and its dma-buf. */
#ifndef PAGEMIX_BUFFER_H
#define PAGEMIX_BUFFER_H

#include <linux/dma-buf.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>

#include "mix.h"

/**
 * struct pagemix_buffer - memory behind one dma-buf
 * @chunks:      the memory
 * @bytes:       its size
 * @layout:      enum pagemix_layout
 * @seed:        of the shuffle
 * @nr_runs:     physically contiguous stretches
 * @largest_run: bytes of the largest one
 * @lock:        guards the members below
 * @attachments: live struct pagemix_attachment
 * @vaddr:       kernel mapping while @vmap_cnt is not zero
 * @vmap_cnt:    users of @vaddr
 */
struct pagemix_buffer {
	struct pagemix_chunks chunks;
	size_t bytes;
	u32 layout;
	u64 seed;
	u64 nr_runs;
	u64 largest_run;

	struct mutex lock;
	struct list_head attachments;
	void *vaddr;
	int vmap_cnt;
};

struct dma_buf *pagemix_buffer_create(const struct pagemix_alloc *args);
struct pagemix_buffer *pagemix_buffer_of(struct dma_buf *dmabuf);
int pagemix_buffer_sgtable(const struct pagemix_buffer *buffer, struct sg_table *table);
void pagemix_buffer_attachments(struct pagemix_buffer *buffer, struct pagemix_buf_attachments *out);

/**
 * pagemix_buffer_next_run - walk the physically contiguous stretches
 * @buffer: the buffer
 * @chunk:  in: first chunk of the run; out: first chunk of the next
 * @run:    out: the run
 *
 * Return: false at the end.
 */
bool pagemix_buffer_next_run(const struct pagemix_buffer *buffer, size_t *chunk,
			     struct pagemix_run *run);

#endif /* PAGEMIX_BUFFER_H */
