// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA a chunk at a time, as a driver without a scatter-gather table
 * does it: dma_map_page() or dma_map_single() of every chunk, and
 * dma_unmap_page() of every chunk. One repetition is the whole buffer; map and
 * unmap alternate, each operation times one half of the cycle. In cold runs all
 * maps come before all unmaps.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/**
 * struct pages - state of a run
 * @chunks:    of the buffer
 * @nr_mapped: chunks that are mapped; in cold runs those of all repetitions so far
 * @addresses: DMA address of each
 */
struct pages {
	const struct pagemix_chunks *chunks;
	size_t nr_mapped;
	dma_addr_t addresses[];
};

static size_t chunk_bytes(const struct pagemix_chunk *chunk)
{
	return PAGE_SIZE << chunk->order;
}

/* Unmaps what was mapped last: the whole buffer, or after an error a part. */
static int page_unmap(struct pagemix_run_ctx *ctx)
{
	struct pages *p = ctx->priv;
	size_t nr = p->chunks->nr, first, i;

	first = p->nr_mapped ? (p->nr_mapped - 1) / nr * nr : 0;
	for (i = first; i < p->nr_mapped; i++)
		dma_unmap_page_attrs(ctx->dev, p->addresses[i],
				     chunk_bytes(&p->chunks->v[i - first]), ctx->direction,
				     PAGEMIX_MAP_ATTRS);
	p->nr_mapped = first;
	return 0;
}

static int page_map(struct pagemix_run_ctx *ctx)
{
	struct pages *p = ctx->priv;
	size_t i;

	for (i = 0; i < p->chunks->nr; i++) {
		const struct pagemix_chunk *chunk = &p->chunks->v[i];
		dma_addr_t address = dma_map_page_attrs(ctx->dev, chunk->page, 0,
							chunk_bytes(chunk), ctx->direction,
							PAGEMIX_MAP_ATTRS);

		if (dma_mapping_error(ctx->dev, address))
			return -ENOMEM;
		p->addresses[p->nr_mapped++] = address;
	}
	return 0;
}

/* The heap takes no highmem: every chunk has a kernel address. */
static int single_map(struct pagemix_run_ctx *ctx)
{
	struct pages *p = ctx->priv;
	size_t i;

	for (i = 0; i < p->chunks->nr; i++) {
		const struct pagemix_chunk *chunk = &p->chunks->v[i];
		dma_addr_t address = dma_map_single_attrs(ctx->dev, page_address(chunk->page),
							  chunk_bytes(chunk), ctx->direction,
							  PAGEMIX_MAP_ATTRS);

		if (dma_mapping_error(ctx->dev, address))
			return -ENOMEM;
		p->addresses[p->nr_mapped++] = address;
	}
	return 0;
}

static void page_note_mapping(struct pagemix_run_ctx *ctx)
{
	const struct pages *p = ctx->priv;

	ctx->iova = p->addresses[p->nr_mapped - p->chunks->nr];
	ctx->nr_mapped = p->chunks->nr;
}

static int page_setup(struct pagemix_run_ctx *ctx)
{
	const struct pagemix_chunks *chunks = &pagemix_buffer_of(ctx->dmabuf)->chunks;
	size_t addresses = ctx->cold ? array_size(chunks->nr, ctx->repetitions) : chunks->nr;
	struct pages *p;

	/* More than the kernel gives is an answer here, no reason for a warning. */
	p = kvzalloc(struct_size(p, addresses, addresses), GFP_KERNEL | __GFP_NOWARN);
	if (!p)
		return -ENOMEM;
	p->chunks = chunks;
	ctx->priv = p;
	return 0;
}

static void page_map_restore(struct pagemix_run_ctx *ctx)
{
	page_note_mapping(ctx);
	if (!ctx->cold)
		page_unmap(ctx);
}

static void page_teardown(struct pagemix_run_ctx *ctx)
{
	struct pages *p = ctx->priv;

	while (p->nr_mapped) {
		page_unmap(ctx);
		cond_resched();
	}
	kvfree(p);
}

static int page_unmap_prepare(struct pagemix_run_ctx *ctx)
{
	int err = ctx->cold ? 0 : page_map(ctx);

	if (!err)
		page_note_mapping(ctx);
	return err;
}

const struct pagemix_op pagemix_op_map_page = {
	.name = "map_page",
	.needs_buffer = true,
	.has_cold = true,
	.setup = page_setup,
	.op = page_map,
	.restore = page_map_restore,
	.teardown = page_teardown,
};

const struct pagemix_op pagemix_op_map_single = {
	.name = "map_single",
	.needs_buffer = true,
	.has_cold = true,
	.setup = page_setup,
	.op = single_map,
	.restore = page_map_restore,
	.teardown = page_teardown,
};

const struct pagemix_op pagemix_op_unmap_page = {
	.name = "unmap_page",
	.needs_buffer = true,
	.has_cold = true,
	.setup = page_setup,
	.fill = page_map,
	.prepare = page_unmap_prepare,
	.op = page_unmap,
	.teardown = page_teardown,
};
