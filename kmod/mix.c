// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocation policy.
 *
 * The loop and the GFP classes are those of the system heap
 * (drivers/dma-buf/heaps/system_heap.c), so that a mix costs here what it
 * would cost there.
 */
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "mix.h"
#include "random.h"

/* The system heap's mix since 6.4. */
const struct pagemix_step pagemix_default_steps[] = {
	{ 8, PAGEMIX_GFP_HIGH },
	{ 4, PAGEMIX_GFP_HIGH },
	{ 0, PAGEMIX_GFP_LOW },
};
const u32 pagemix_default_nsteps = ARRAY_SIZE(pagemix_default_steps);

/* Compound, so that pages behind the first can be mapped and pinned. */
static gfp_t mix_gfp(const struct pagemix_step *step)
{
	gfp_t gfp = GFP_HIGHUSER | __GFP_ZERO;

	if (step->order)
		gfp |= __GFP_COMP;
	if (step->gfp == PAGEMIX_GFP_MID)
		gfp |= __GFP_NOWARN;
	if (step->gfp == PAGEMIX_GFP_HIGH)
		gfp = (gfp | __GFP_NOWARN | __GFP_NORETRY) & ~__GFP_RECLAIM;
	return gfp;
}

/**
 * pagemix_mix_check - is this a mix that can fill a buffer?
 * @steps:  the mix; orders must not increase
 * @nsteps: used entries; the others must be zero
 * @bytes:  size of the buffer, whole pages
 *
 * Return: 0 or -EINVAL.
 */
int pagemix_mix_check(const struct pagemix_step *steps, u32 nsteps, size_t bytes)
{
	u32 i;

	BUILD_BUG_ON(MAX_PAGE_ORDER >= PAGEMIX_ORDERS);

	if (!nsteps || nsteps > PAGEMIX_MAX_STEPS)
		return -EINVAL;
	for (i = 0; i < nsteps; i++) {
		if (steps[i].order > MAX_PAGE_ORDER || steps[i].gfp > PAGEMIX_GFP_HIGH)
			return -EINVAL;
		if (i && steps[i].order > steps[i - 1].order)
			return -EINVAL;
	}
	for (; i < PAGEMIX_MAX_STEPS; i++)
		if (steps[i].order || steps[i].gfp)
			return -EINVAL;
	if (!IS_ALIGNED(bytes, PAGE_SIZE << steps[nsteps - 1].order))
		return -EINVAL;
	return 0;
}

/* Where the time of the loop goes; reads the clock when the order changes. */
struct pagemix_mix_clock {
	u64 *order_ns;
	u64 since;
	int order;
};

static void mix_clock_switch(struct pagemix_mix_clock *clock, int order)
{
	u64 now;

	if (clock->order == order)
		return;
	now = ktime_get_ns();
	if (clock->order >= 0)
		clock->order_ns[clock->order] += now - clock->since;
	clock->since = now;
	clock->order = order;
}

static struct page *mix_alloc_largest(struct pagemix_chunks *chunks, size_t rest,
				      unsigned int max_order, struct pagemix_mix_clock *clock,
				      const struct pagemix_step *steps, u32 nsteps,
				      unsigned int *order)
{
	struct page *page;
	u32 i;

	for (i = 0; i < nsteps; i++) {
		if (steps[i].order > max_order || rest < PAGE_SIZE << steps[i].order)
			continue;
		mix_clock_switch(clock, steps[i].order);
		page = alloc_pages(mix_gfp(&steps[i]), steps[i].order);
		if (page) {
			*order = steps[i].order;
			return page;
		}
		chunks->order_fails[steps[i].order]++;
	}
	return NULL;
}

/*
 * Never in one piece above a page: for the 40 KiB of 2560 chunks kvmalloc()
 * first compacts memory, which the system heap, whose tables are chains of
 * pages, does not do.
 */
static struct pagemix_chunk *chunk_array(size_t nr)
{
	if (nr <= PAGE_SIZE / sizeof(struct pagemix_chunk))
		return kmalloc_array(nr, sizeof(struct pagemix_chunk), GFP_KERNEL);
	return vmalloc_array(nr, sizeof(struct pagemix_chunk));
}

/**
 * pagemix_chunks_alloc - obtain zeroed memory by a mix
 * @chunks: filled in
 * @bytes:  size, checked by pagemix_mix_check()
 * @steps:  the mix
 * @nsteps: its steps
 *
 * Return: 0, -ENOMEM, or -EINTR on a fatal signal; nothing stays allocated
 * after an error.
 */
int pagemix_chunks_alloc(struct pagemix_chunks *chunks, size_t bytes,
			 const struct pagemix_step *steps, u32 nsteps)
{
	struct pagemix_mix_clock clock = { .order_ns = chunks->order_ns, .order = -1 };
	unsigned int order = steps[0].order;
	struct page *page, *next;
	size_t rest = bytes, nr = 0;
	LIST_HEAD(pages);
	u64 begin;
	int err;

	begin = ktime_get_ns();
	while (rest) {
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto err_free;
		}
		page = mix_alloc_largest(chunks, rest, order, &clock, steps, nsteps, &order);
		if (!page) {
			err = -ENOMEM;
			goto err_free;
		}
		list_add_tail(&page->lru, &pages);
		rest -= PAGE_SIZE << order;
		nr++;
	}
	mix_clock_switch(&clock, -1);
	chunks->alloc_ns = ktime_get_ns() - begin;

	chunks->v = chunk_array(nr);
	if (!chunks->v) {
		err = -ENOMEM;
		goto err_free;
	}
	list_for_each_entry_safe(page, next, &pages, lru) {
		list_del(&page->lru);
		chunks->v[chunks->nr].page = page;
		chunks->v[chunks->nr].order = compound_order(page);
		chunks->by_order[compound_order(page)]++;
		chunks->nr++;
	}
	return 0;

err_free:
	list_for_each_entry_safe(page, next, &pages, lru) {
		list_del(&page->lru);
		__free_pages(page, compound_order(page));
	}
	return err;
}

/**
 * pagemix_chunks_free - give the memory back
 * @chunks: of pagemix_chunks_alloc()
 *
 * A page that is still pinned or mapped goes back when its last user lets go.
 */
void pagemix_chunks_free(struct pagemix_chunks *chunks)
{
	size_t i;

	for (i = 0; i < chunks->nr; i++)
		__free_pages(chunks->v[i].page, chunks->v[i].order);
	kvfree(chunks->v);
	chunks->v = NULL;
	chunks->nr = 0;
}

/**
 * pagemix_chunks_shuffle - break up contiguity that is due to luck
 * @chunks: of pagemix_chunks_alloc()
 * @seed:   the same seed gives the same permutation
 *
 * Fisher-Yates.
 */
void pagemix_chunks_shuffle(struct pagemix_chunks *chunks, u64 seed)
{
	size_t i, k;

	for (i = chunks->nr; i > 1; i--) {
		k = pagemix_random(&seed) % i;
		swap(chunks->v[i - 1], chunks->v[k]);
	}
}
