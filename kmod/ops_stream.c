// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming DMA: dma_map_sgtable() and dma_unmap_sgtable() of one attachment.
 *
 * The scatter-gather table is made once, by attach, as an importer's would be;
 * the DMA API call alone is timed. map and unmap alternate strictly: each
 * operation times one half of the cycle and leaves the other untimed. In cold
 * runs all maps come before all unmaps.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/**
 * struct stream_mapping - one mapping of the buffer
 * @node:  in stream.mappings
 * @table: one entry a chunk
 */
struct stream_mapping {
	struct list_head node;
	struct sg_table table;
};

/**
 * struct stream - state of a run
 * @attachment: to the buffer
 * @table:      the table to map or unmap next; the attachment's in warm runs
 * @mapped:     @table is mapped
 * @next:       cold map: the mapping that @table belongs to
 * @mappings:   cold runs: struct stream_mapping, all mapped
 */
struct stream {
	struct dma_buf_attachment *attachment;
	struct sg_table *table;
	bool mapped;
	struct stream_mapping *next;
	struct list_head mappings;
};

static int stream_map(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	return dma_map_sgtable(ctx->dev, s->table, ctx->direction, PAGEMIX_MAP_ATTRS);
}

static int stream_unmap(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	dma_unmap_sgtable(ctx->dev, s->table, ctx->direction, PAGEMIX_MAP_ATTRS);
	return 0;
}

static void stream_note_mapping(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	ctx->iova = sg_dma_address(s->table->sgl);
	ctx->nr_mapped = s->table->nents;
}

static int stream_setup(struct pagemix_run_ctx *ctx)
{
	struct stream *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	INIT_LIST_HEAD(&s->mappings);
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

static struct stream_mapping *stream_mapping_new(struct pagemix_run_ctx *ctx)
{
	struct stream_mapping *m;

	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (m && pagemix_buffer_sgtable(pagemix_buffer_of(ctx->dmabuf), &m->table)) {
		kfree(m);
		m = NULL;
	}
	return m;
}

static void stream_mapping_free(struct stream_mapping *m)
{
	sg_free_table(&m->table);
	kfree(m);
}

/* Cold maps stay until the end, so that each one gets a range of its own. */
static int stream_map_prepare(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	if (!ctx->cold)
		return 0;
	s->next = stream_mapping_new(ctx);
	if (!s->next)
		return -ENOMEM;
	s->table = &s->next->table;
	return 0;
}

static void stream_map_restore(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;

	stream_note_mapping(ctx);
	if (ctx->cold) {
		list_add(&s->next->node, &s->mappings);
		s->next = NULL;
	} else {
		stream_unmap(ctx);
	}
}

static void stream_teardown(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	struct stream_mapping *m, *next;

	if (s->mapped)
		stream_unmap(ctx);
	if (s->next)
		stream_mapping_free(s->next);
	list_for_each_entry_safe(m, next, &s->mappings, node) {
		dma_unmap_sgtable(ctx->dev, &m->table, ctx->direction, PAGEMIX_MAP_ATTRS);
		stream_mapping_free(m);
	}
	dma_buf_detach(ctx->dmabuf, s->attachment);
	kfree(s);
}

static int stream_unmap_fill(struct pagemix_run_ctx *ctx)
{
	int err = stream_map_prepare(ctx);

	if (!err)
		err = stream_map(ctx);
	if (!err)
		stream_map_restore(ctx);
	return err;
}

static int stream_unmap_prepare(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	int err;

	if (ctx->cold) {
		s->table = &list_last_entry(&s->mappings, struct stream_mapping, node)->table;
	} else {
		err = stream_map(ctx);
		if (err)
			return err;
		s->mapped = true;
	}
	stream_note_mapping(ctx);
	return 0;
}

static void stream_unmap_restore(struct pagemix_run_ctx *ctx)
{
	struct stream *s = ctx->priv;
	struct stream_mapping *m;

	s->mapped = false;
	if (ctx->cold) {
		m = container_of(s->table, struct stream_mapping, table);
		list_del(&m->node);
		stream_mapping_free(m);
	}
}

/* What an importer pays that keeps nothing: attach, map, unmap, detach. */
static int attach_map(struct pagemix_run_ctx *ctx)
{
	struct dma_buf_attachment *attachment = dma_buf_attach(ctx->dmabuf, ctx->dev);
	struct sg_table *table;

	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	table = dma_buf_map_attachment_unlocked(attachment, ctx->direction);
	if (!IS_ERR(table)) {
		ctx->iova = sg_dma_address(table->sgl);
		ctx->nr_mapped = table->nents;
		dma_buf_unmap_attachment_unlocked(attachment, table, ctx->direction);
	}
	dma_buf_detach(ctx->dmabuf, attachment);
	return PTR_ERR_OR_ZERO(table);
}

const struct pagemix_op pagemix_op_attach_map = {
	.name = "attach_map",
	.needs_buffer = true,
	.op = attach_map,
};

const struct pagemix_op pagemix_op_map_sgtable = {
	.name = "map_sgtable",
	.needs_buffer = true,
	.has_cold = true,
	.setup = stream_setup,
	.prepare = stream_map_prepare,
	.op = stream_map,
	.restore = stream_map_restore,
	.teardown = stream_teardown,
};

const struct pagemix_op pagemix_op_unmap_sgtable = {
	.name = "unmap_sgtable",
	.needs_buffer = true,
	.has_cold = true,
	.setup = stream_setup,
	.fill = stream_unmap_fill,
	.prepare = stream_unmap_prepare,
	.op = stream_unmap,
	.restore = stream_unmap_restore,
	.teardown = stream_teardown,
};
