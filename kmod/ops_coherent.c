// SPDX-License-Identifier: GPL-2.0-only
/*
 * Coherent DMA memory: dma_alloc_attrs() and dma_free_attrs(), without a dma-buf.
 *
 * The kernel zeroes such memory since 5.0, whether __GFP_ZERO is given or not;
 * only dma-direct with DMA_ATTR_NO_KERNEL_MAPPING does not. dma-iommu takes no
 * notice of that attribute: it makes the kernel mapping all the same.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ops.h"

#define COHERENT_ATTRS (PAGEMIX_COHERENT_SINGLE_PAGES | PAGEMIX_COHERENT_NO_KERNEL_MAPPING | \
			PAGEMIX_COHERENT_ZERO)

/**
 * struct pagemix_coherent - state of a run
 * @bytes: of the allocation
 * @attrs: DMA_ATTR_*
 * @gfp:   of the allocation
 */
struct pagemix_coherent {
	size_t bytes;
	unsigned long attrs;
	gfp_t gfp;
};

/**
 * struct pagemix_coherent_slot - an allocation
 * @cookie:  what dma_alloc_attrs() returned: an address, or a page without a
 *           kernel mapping
 * @address: of it for the device
 */
struct pagemix_coherent_slot {
	void *cookie;
	dma_addr_t address;
};

static int coherent_alloc(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_coherent *c = ctx->priv;
	struct pagemix_coherent_slot *s = slot;

	s->cookie = dma_alloc_attrs(ctx->dev, c->bytes, &s->address, c->gfp, c->attrs);
	return s->cookie ? 0 : -ENOMEM;
}

static int coherent_free(struct pagemix_run_ctx *ctx, void *slot)
{
	const struct pagemix_coherent *c = ctx->priv;
	const struct pagemix_coherent_slot *s = slot;

	dma_free_attrs(ctx->dev, c->bytes, s->cookie, s->address, c->attrs);
	return 0;
}

static void coherent_note(struct pagemix_run_ctx *ctx, const void *slot)
{
	const struct pagemix_coherent_slot *s = slot;

	ctx->iova = s->address;
	ctx->nr_mapped = 1;
}

static int coherent_setup(struct pagemix_run_ctx *ctx)
{
	u64 bytes = ctx->params[PAGEMIX_COHERENT_BYTES];
	u64 attrs = ctx->params[PAGEMIX_COHERENT_ATTRS];
	struct pagemix_coherent *c;

	if (!bytes || bytes > PAGEMIX_MAX_COHERENT || !PAGE_ALIGNED(bytes) ||
	    bytes >> PAGE_SHIFT > totalram_pages() / 2 || attrs & ~(u64)COHERENT_ATTRS)
		return -EINVAL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->bytes = bytes;
	/* Not having the memory is a result, no reason to fill the kernel's log. */
	c->gfp = GFP_KERNEL | __GFP_NOWARN;
	c->attrs = DMA_ATTR_NO_WARN;
	if (attrs & PAGEMIX_COHERENT_ZERO)
		c->gfp |= __GFP_ZERO;
	if (attrs & PAGEMIX_COHERENT_SINGLE_PAGES)
		c->attrs |= DMA_ATTR_ALLOC_SINGLE_PAGES;
	if (attrs & PAGEMIX_COHERENT_NO_KERNEL_MAPPING)
		c->attrs |= DMA_ATTR_NO_KERNEL_MAPPING;
	ctx->priv = c;
	return 0;
}

static void coherent_teardown(struct pagemix_run_ctx *ctx)
{
	kfree(ctx->priv);
}

const struct pagemix_pair pagemix_coherent = {
	.nr_params = PAGEMIX_COHERENT_PARAMS,
	.slot_size = sizeof(struct pagemix_coherent_slot),
	.setup = coherent_setup,
	.apply = coherent_alloc,
	.undo = coherent_free,
	.note = coherent_note,
	.teardown = coherent_teardown,
};
