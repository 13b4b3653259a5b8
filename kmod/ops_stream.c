// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA: dma_map_sgtable() and dma_unmap_sgtable() of one attachment.
 *
 * The scatter-gather table is made once, by attach, as an importer's would be;
 * the DMA API call alone is timed. map and unmap alternate strictly: each
 * operation times one half of the cycle and leaves the other untimed.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "buffer.h"
#include "ops.h"

/**
 * struct stream_blocker - holds an IOVA range, so that the next map is cold
 * @node:  in stream.blockers
 * @table: a second table of the same buffer, mapped
 */
struct stream_blocker {
	struct list_head node;
	struct sg_table table;
};

/**
 * struct stream - state of a run
 * @attachment: to the buffer
 * @table:      its table
 * @mapped:     @table is mapped
 * @used:       a cycle has ended, so that its IOVA range is no longer fresh
 * @blockers:   struct stream_blocker, cold runs only
 */
struct stream {
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	bool mapped;
	bool used;
	struct list_head blockers;
};

static int stream_setup(struct pagemix_run_ctx *ctx)
{
	struct stream *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	INIT_LIST_HEAD(&s->blockers);
	s->attachment = dma_buf_attach(ctx->dmabuf, ctx->dev);
	if (IS_ERR(s->attachment)) {
		int err = PTR_ERR(s->attachment);

		kfree(s);
		return err;
	}
	s->table = pagemix_attachment_sgtable(s->attachment);
	ctx->priv = s;
	return 0;
}

/* Take the range that the last cycle gave back. */
static int stream_block(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	struct stream_blocker *b;
	int err;

	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	err = pagemix_buffer_sgtable(pagemix_buffer_of(ctx->dmabuf), &b->table);
	if (err)
		goto err_free;
	err = dma_map_sgtable(ctx->dev, &b->table, ctx->direction, DMA_ATTR_SKIP_CPU_SYNC);
	if (err)
		goto err_table;
	list_add(&b->node, &s->blockers);
	return 0;

err_table:
	sg_free_table(&b->table);
err_free:
	kfree(b);
	return err;
}

static int stream_fresh(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	if (!ctx->cold || !s->used)
		return 0;
	return stream_block(ctx);
}

static int stream_map(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	return dma_map_sgtable(ctx->dev, s->table, ctx->direction, 0);
}

static int stream_unmap(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	dma_unmap_sgtable(ctx->dev, s->table, ctx->direction, 0);
	return 0;
}

static void stream_note_mapping(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	ctx->iova = sg_dma_address(s->table->sgl);
	ctx->nr_mapped = s->table->nents;
}

static void stream_map_restore(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	stream_note_mapping(ctx);
	stream_unmap(ctx);
	s->used = true;
}

static int stream_unmap_prepare(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	int err;

	err = stream_fresh(ctx);
	if (!err)
		err = stream_map(ctx);
	if (err)
		return err;
	stream_note_mapping(ctx);
	s->mapped = true;
	return 0;
}

static void stream_unmap_restore(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	s->mapped = false;
	s->used = true;
}

static void stream_teardown(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	struct stream_blocker *b, *next;

	if (s->mapped)
		stream_unmap(ctx);
	list_for_each_entry_safe(b, next, &s->blockers, node) {
		dma_unmap_sgtable(ctx->dev, &b->table, ctx->direction, DMA_ATTR_SKIP_CPU_SYNC);
		sg_free_table(&b->table);
		kfree(b);
	}
	dma_buf_detach(ctx->dmabuf, s->attachment);
	kfree(s);
}

const struct pagemix_op pagemix_op_map_sgtable = {
	.name = "map_sgtable",
	.needs_buffer = true,
	.setup = stream_setup,
	.prepare = stream_fresh,
	.op = stream_map,
	.restore = stream_map_restore,
	.teardown = stream_teardown,
};

const struct pagemix_op pagemix_op_unmap_sgtable = {
	.name = "unmap_sgtable",
	.needs_buffer = true,
	.setup = stream_setup,
	.prepare = stream_unmap_prepare,
	.op = stream_unmap,
	.restore = stream_unmap_restore,
	.teardown = stream_teardown,
};
