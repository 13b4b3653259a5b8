/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocation policy: a mix and the chunks it obtains. */
#ifndef PAGEMIX_MIX_H
#define PAGEMIX_MIX_H

#include <linux/mm_types.h>
#include <linux/types.h>

#include "pagemix.h"

/**
 * struct pagemix_chunk - one buddy allocation
 * @page:  its first page
 * @order: log2 of its pages
 */
struct pagemix_chunk {
	struct page *page;
	unsigned int order;
};

/**
 * struct pagemix_chunks - the memory of one buffer, in buffer order
 * @v:           the chunks
 * @nr:          their number
 * @alloc_ns:    ktime nanoseconds of the allocation loop
 * @by_order:    chunks obtained
 * @order_ns:    ktime nanoseconds of the loop by order tried
 * @order_fails: failed attempts by order tried
 */
struct pagemix_chunks {
	struct pagemix_chunk *v;
	size_t nr;
	u64 alloc_ns;
	u64 by_order[PAGEMIX_ORDERS];
	u64 order_ns[PAGEMIX_ORDERS];
	u64 order_fails[PAGEMIX_ORDERS];
};

extern const struct pagemix_step pagemix_default_steps[];
extern const u32 pagemix_default_nsteps;

int pagemix_mix_check(const struct pagemix_step *steps, u32 nsteps, size_t bytes);
int pagemix_chunks_alloc(struct pagemix_chunks *chunks, size_t bytes,
			 const struct pagemix_step *steps, u32 nsteps);
void pagemix_chunks_free(struct pagemix_chunks *chunks);
void pagemix_chunks_shuffle(struct pagemix_chunks *chunks, u64 seed);

#endif /* PAGEMIX_MIX_H */
