// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA a chunk at a time, as a driver without a scatter-gather table
 * does it: dma_map_page() or dma_map_single() of every chunk, and
 * dma_unmap_page() of every chunk. One repetition is the whole buffer; a slot is
 * the DMA address of each chunk.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "buffer.h"
#include "ops.h"

static size_t chunk_bytes(const struct pagemix_chunk *chunk)
{
	return PAGE_SIZE << chunk->order;
}

static int page_setup(struct pagemix_run_ctx *ctx)
{
	ctx->slot_size = array_size(ctx->buffer->chunks.nr, sizeof(dma_addr_t));
	return 0;
}

static void page_unmap_first(struct pagemix_run_ctx *ctx, const dma_addr_t *addresses, size_t nr)
{
	const struct pagemix_chunk *chunks = ctx->buffer->chunks.v;
	size_t i;

	for (i = 0; i < nr; i++)
		dma_unmap_page_attrs(ctx->dev, addresses[i], chunk_bytes(&chunks[i]),
				     ctx->direction, ctx->attrs);
}

static int page_unmap(struct pagemix_run_ctx *ctx, void *slot)
{
	page_unmap_first(ctx, slot, ctx->buffer->chunks.nr);
	return 0;
}

static int page_map(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_chunks *chunks = &ctx->buffer->chunks;
	dma_addr_t *addresses = slot;
	size_t i;

	for (i = 0; i < chunks->nr; i++) {
		const struct pagemix_chunk *chunk = &chunks->v[i];

		addresses[i] = dma_map_page_attrs(ctx->dev, chunk->page, 0, chunk_bytes(chunk),
						  ctx->direction, ctx->attrs);
		if (dma_mapping_error(ctx->dev, addresses[i])) {
			page_unmap_first(ctx, addresses, i);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The heap takes no highmem: every chunk has a kernel address. */
static int single_map(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_chunks *chunks = &ctx->buffer->chunks;
	dma_addr_t *addresses = slot;
	size_t i;

	for (i = 0; i < chunks->nr; i++) {
		const struct pagemix_chunk *chunk = &chunks->v[i];

		addresses[i] = dma_map_single_attrs(ctx->dev, page_address(chunk->page),
						    chunk_bytes(chunk), ctx->direction,
						    ctx->attrs);
		if (dma_mapping_error(ctx->dev, addresses[i])) {
			page_unmap_first(ctx, addresses, i);
			return -ENOMEM;
		}
	}
	return 0;
}

static void page_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const dma_addr_t *addresses = slot;

	ctx->iova = addresses[0];
	ctx->nr_mapped = ctx->buffer->chunks.nr;
}

const struct pagemix_pair pagemix_page = {
	.needs_buffer = true,
	.takes_attrs = true,
	.cold = PAGEMIX_COLD_ALL,
	.setup = page_setup,
	.apply = page_map,
	.undo = page_unmap,
	.note = page_note,
};

const struct pagemix_pair pagemix_single = {
	.needs_buffer = true,
	.takes_attrs = true,
	.cold = PAGEMIX_COLD_ALL,
	.setup = page_setup,
	.apply = single_map,
	.undo = page_unmap,
	.note = page_note,
};
