// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA pools: dma_pool_alloc() of every block that a number of pages holds, and
 * dma_pool_free() of them all. One repetition is all blocks; both halves
 * alternate, each operation times one.
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

/* Blocks between two looks for a signal: old kernels take long for each. */
#define POOL_BATCH	1024

/**
 * struct pool_block - a block of the pool
 * @vaddr:   for the CPU, NULL where the last alloc did not get to it
 * @address: for the device
 */
struct pool_block {
	void *vaddr;
	dma_addr_t address;
};

/**
 * struct pool - state of a run
 * @pool:   the DMA pool, NULL in cold runs between repetitions
 * @size:   of a block
 * @align:  of a block
 * @nr:     blocks of a repetition
 * @live:   of these, the first @live were allocated and not all are freed
 * @freed:  entries of @sequence that are done while blocks are freed
 * @sequence: blocks in the order in which they are freed
 * @blocks: all blocks
 */
struct pool {
	struct dma_pool *pool;
	size_t size;
	size_t align;
	size_t nr;
	size_t live;
	size_t freed;
	u32 *sequence;
	struct pool_block *blocks;
};

/* The loops are measured along with the calls: nothing else is done for a block. */
static int pool_alloc(struct pagemix_run_ctx *ctx)
{
	struct pool *p = ctx->priv;
	int err = 0;

	while (!err && p->live < p->nr) {
		const size_t end = min(p->nr, p->live + POOL_BATCH);
		size_t i;

		for (i = p->live; i < end; i++) {
			struct pool_block *block = &p->blocks[i];

			block->vaddr = dma_pool_alloc(p->pool, GFP_KERNEL, &block->address);
			if (!block->vaddr)
				break;
		}
		p->live = i;
		err = i < end ? -ENOMEM : pagemix_run_interrupted(ctx);
	}
	if (err)
		memset(&p->blocks[p->live], 0, (p->nr - p->live) * sizeof(*p->blocks));
	return err;
}

/* Frees what is allocated: all blocks, or after an error those that are left. */
static int pool_free_all(struct pagemix_run_ctx *ctx, bool may_end)
{
	struct pool *p = ctx->priv;
	int err;

	while (p->live && p->freed < p->nr) {
		const size_t end = min(p->nr, p->freed + POOL_BATCH);
		size_t i;

		for (i = p->freed; i < end; i++) {
			const struct pool_block *block = &p->blocks[p->sequence[i]];

			if (block->vaddr)
				dma_pool_free(p->pool, block->vaddr, block->address);
		}
		p->freed = end;
		err = pagemix_run_interrupted(ctx);
		if (err && may_end)
			return err;
		cond_resched();
	}
	p->live = 0;
	p->freed = 0;
	return 0;
}

static int pool_free(struct pagemix_run_ctx *ctx)
{
	return pool_free_all(ctx, true);
}

static void pool_note(struct pagemix_run_ctx *ctx)
{
	const struct pool *p = ctx->priv;

	ctx->iova = p->blocks[0].address;
	ctx->nr_mapped = p->nr;
}

static int pool_make(struct pagemix_run_ctx *ctx)
{
	struct pool *p = ctx->priv;

	p->pool = dma_pool_create("pagemix", ctx->dev, p->size, p->align, 0);
	return p->pool ? 0 : -ENOMEM;
}

static void pool_make_sequence(struct pool *p, u64 order, u64 seed)
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
	bytes = pages * PAGE_SIZE + nr * (sizeof(struct pool_block) + sizeof(u32));
	return bytes >> PAGE_SHIFT > totalram_pages() / 2 ? 0 : nr;
}

static void pool_teardown(struct pagemix_run_ctx *ctx)
{
	struct pool *p = ctx->priv;

	if (p->pool) {
		pool_free_all(ctx, false);
		dma_pool_destroy(p->pool);
	}
	kvfree(p->blocks);
	kvfree(p->sequence);
	kfree(p);
}

static int pool_setup(struct pagemix_run_ctx *ctx)
{
	const u64 *params = ctx->params;
	size_t nr = pool_blocks(params);
	struct pool *p;
	int err = -ENOMEM;

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
	if (!p->blocks || !p->sequence)
		goto undo;
	pool_make_sequence(p, params[PAGEMIX_POOL_ORDER], params[PAGEMIX_POOL_SEED]);
	if (ctx->cold)
		return 0;
	err = pool_make(ctx);
	if (!err)
		err = pool_alloc(ctx);
	if (!err)
		err = pool_free(ctx);
	if (!err)
		return 0;
undo:
	pool_teardown(ctx);
	return err;
}

static int pool_alloc_prepare(struct pagemix_run_ctx *ctx)
{
	return ctx->cold ? pool_make(ctx) : 0;
}

static void pool_alloc_restore(struct pagemix_run_ctx *ctx)
{
	struct pool *p = ctx->priv;

	pool_note(ctx);
	pool_free_all(ctx, false);
	if (ctx->cold) {
		dma_pool_destroy(p->pool);
		p->pool = NULL;
	}
}

static int pool_free_prepare(struct pagemix_run_ctx *ctx)
{
	int err = pool_alloc(ctx);

	if (!err)
		pool_note(ctx);
	return err;
}

const struct pagemix_op pagemix_op_pool_alloc = {
	.name = "pool_alloc",
	.has_cold = true,
	.nr_params = PAGEMIX_POOL_PARAMS,
	.setup = pool_setup,
	.prepare = pool_alloc_prepare,
	.op = pool_alloc,
	.restore = pool_alloc_restore,
	.teardown = pool_teardown,
};

const struct pagemix_op pagemix_op_pool_free = {
	.name = "pool_free",
	.nr_params = PAGEMIX_POOL_PARAMS,
	.setup = pool_setup,
	.prepare = pool_free_prepare,
	.op = pool_free,
	.teardown = pool_teardown,
};
