// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA pools: dma_pool_alloc() of every block that a number of pages holds, and
 * dma_pool_free() of them all. One repetition is all blocks; a slot is the pool.
 *
 * A pool keeps its pages until it is destroyed. Warm runs use one pool, which gets
 * its pages before the first repetition; a cold pool_alloc makes one each time.
 */
#include <linux/dmapool.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "ops.h"
#include "random.h"

/* Blocks between two chances for others to run: old kernels take long for each. */
#define POOL_BATCH	1024

/**
 * struct pagemix_pool_block - a block of the pool
 * @vaddr:   for the CPU
 * @address: for the device
 */
struct pagemix_pool_block {
	void *vaddr;
	dma_addr_t address;
};

/**
 * struct pagemix_pool - state of a run
 * @size:     of a block
 * @align:    of a block
 * @nr:       blocks of a repetition
 * @sequence: blocks in the order in which they are freed
 * @blocks:   all blocks
 */
struct pagemix_pool {
	size_t size;
	size_t align;
	size_t nr;
	u32 *sequence;
	struct pagemix_pool_block *blocks;
};

static int pool_give_up(struct dma_pool *pool, const struct pagemix_pool_block *blocks, size_t nr,
			int err)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		dma_pool_free(pool, blocks[i].vaddr, blocks[i].address);
		if (i % POOL_BATCH == 0)
			cond_resched();
	}
	return err;
}

/* The loops are measured along with the calls: nothing else is done for a block. */
static int pool_alloc(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_pool *p = ctx->priv;
	struct dma_pool *pool = *(struct dma_pool **)slot;
	size_t i = 0;
	int err;

	while (i < p->nr) {
		const size_t end = min(p->nr, i + POOL_BATCH);

		for (; i < end; i++) {
			struct pagemix_pool_block *block = &p->blocks[i];

			block->vaddr = dma_pool_alloc(pool, GFP_KERNEL, &block->address);
			if (!block->vaddr)
				return pool_give_up(pool, p->blocks, i, -ENOMEM);
		}
		err = pagemix_run_interrupted(ctx);
		if (err)
			return pool_give_up(pool, p->blocks, i, err);
	}
	return 0;
}

static int pool_free(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_pool *p = ctx->priv;
	struct dma_pool *pool = *(struct dma_pool **)slot;
	size_t i = 0;

	while (i < p->nr) {
		const size_t end = min(p->nr, i + POOL_BATCH);

		for (; i < end; i++) {
			const struct pagemix_pool_block *block = &p->blocks[p->sequence[i]];

			dma_pool_free(pool, block->vaddr, block->address);
		}
		cond_resched();
	}
	return 0;
}

static void pool_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const struct pagemix_pool *p = ctx->priv;

	ctx->iova = p->blocks[0].address;
	ctx->nr_mapped = p->nr;
}

static int pool_slot_init(struct pagemix_run_ctx *ctx, void *slot, u32 index)
{
	const struct pagemix_pool *p = ctx->priv;
	struct dma_pool **pool = slot;
	int err;

	*pool = dma_pool_create("pagemix", ctx->dev, p->size, p->align, 0);
	if (!*pool)
		return -ENOMEM;
	if (ctx->cold)
		return 0;
	err = pool_alloc(ctx, slot);
	if (err)
		dma_pool_destroy(*pool);
	else
		pool_free(ctx, slot);
	return err;
}

static void pool_slot_exit(struct pagemix_run_ctx *ctx, void *slot)
{
	dma_pool_destroy(*(struct dma_pool **)slot);
}

static void pool_make_sequence(struct pagemix_pool *p, u64 order, u64 seed)
{
	size_t i, k;

	for (i = 0; i < p->nr; i++)
		p->sequence[i] = order == PAGEMIX_FREE_REVERSED ? p->nr - 1 - i : i;
	if (order != PAGEMIX_FREE_RANDOM)
		return;
	for (i = p->nr; i > 1; i--) {	/* Fisher and Yates */
		k = pagemix_random(&seed) % i;
		swap(p->sequence[i - 1], p->sequence[k]);
	}
}

/* Refuses what cannot be: nothing is allocated before. Blocks of a repetition, or 0. */
static size_t pool_blocks(const u64 *params)
{
	u64 size = params[PAGEMIX_POOL_BLOCK], align = params[PAGEMIX_POOL_ALIGN];
	u64 pages = params[PAGEMIX_POOL_PAGES], order = params[PAGEMIX_POOL_ORDER];
	u64 nr, bytes;

	if (size < PAGEMIX_MIN_BLOCK || size > PAGEMIX_MAX_BLOCK)
		return 0;
	if (!is_power_of_2(align) || align > PAGEMIX_MAX_BLOCK)
		return 0;
	if (!pages || pages > PAGEMIX_MAX_POOL_PAGES)
		return 0;
	if (order > PAGEMIX_FREE_RANDOM)
		return 0;
	if (order != PAGEMIX_FREE_RANDOM && params[PAGEMIX_POOL_SEED])
		return 0;
	nr = pages * (PAGE_SIZE / ALIGN(size, align));
	bytes = pages * PAGE_SIZE + nr * (sizeof(struct pagemix_pool_block) + sizeof(u32));
	return bytes >> PAGE_SHIFT > totalram_pages() / 2 ? 0 : nr;
}

static void pool_teardown(struct pagemix_run_ctx *ctx)
{
	struct pagemix_pool *p = ctx->priv;

	kvfree(p->blocks);
	kvfree(p->sequence);
	kfree(p);
}

static int pool_setup(struct pagemix_run_ctx *ctx)
{
	const u64 *params = ctx->params;
	size_t nr = pool_blocks(params);
	struct pagemix_pool *p;

	if (!nr)
		return -EINVAL;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	ctx->priv = p;
	p->size = params[PAGEMIX_POOL_BLOCK];
	p->align = params[PAGEMIX_POOL_ALIGN];
	p->nr = nr;
	p->blocks = kvcalloc(nr, sizeof(*p->blocks), GFP_KERNEL);
	p->sequence = kvcalloc(nr, sizeof(*p->sequence), GFP_KERNEL);
	if (!p->blocks || !p->sequence) {
		pool_teardown(ctx);
		return -ENOMEM;
	}
	pool_make_sequence(p, params[PAGEMIX_POOL_ORDER], params[PAGEMIX_POOL_SEED]);
	return 0;
}

const struct pagemix_pair pagemix_pool = {
	.cold = PAGEMIX_COLD_FRESH,
	.nr_params = PAGEMIX_POOL_PARAMS,
	.slot_size = sizeof(struct dma_pool *),
	.setup = pool_setup,
	.slot_init = pool_slot_init,
	.apply = pool_alloc,
	.undo = pool_free,
	.note = pool_note,
	.slot_exit = pool_slot_exit,
	.teardown = pool_teardown,
};
