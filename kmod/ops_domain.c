// SPDX-License-Identifier: GPL-2.0-only
/*
 * The IOMMU API below the DMA API, on a paging domain of the module's own: page
 * tables alone, without the allocation of IOVAs. The device is attached to the
 * domain for the run, as some drivers do nothing before that, and goes back to
 * the DMA API's domain at the end. A group with other devices is refused by the
 * kernel (EINVAL). In cold runs each repetition has addresses of its own, behind
 * those of the one before.
 */
#include <linux/dma-buf.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"

/* From where on buffers are mapped: aligned to every leaf size, away from reserved ranges. */
#define DOMAIN_IOVA	SZ_4G

/**
 * struct own_domain - state of a run
 * @domain: the paging domain
 * @buffer: what is mapped
 * @table:  one entry a chunk
 * @prot:   IOMMU_READ and so on
 * @whole:  ranges that hold the whole buffer, @stride apart from DOMAIN_IOVA on
 * @stride: distance of two ranges: their last-level page tables are their own
 * @mapped: bytes mapped of the range behind those
 */
struct own_domain {
	struct iommu_domain *domain;
	const struct pagemix_buffer *buffer;
	struct sg_table table;
	int prot;
	u32 whole;
	u64 stride;
	size_t mapped;
};

static unsigned long range_iova(const struct own_domain *d, u32 range)
{
	return DOMAIN_IOVA + range * d->stride;
}

static int domain_prot(enum dma_data_direction direction)
{
	switch (direction) {
	case DMA_TO_DEVICE:
		return IOMMU_READ | IOMMU_CACHE;
	case DMA_FROM_DEVICE:
		return IOMMU_WRITE | IOMMU_CACHE;
	default:
		return IOMMU_READ | IOMMU_WRITE | IOMMU_CACHE;
	}
}

/* The range is mapped as a whole: the next map takes the one behind. */
static int domain_map_done(struct own_domain *d)
{
	if (d->mapped != d->buffer->bytes)
		return -ENOMEM;
	d->mapped = 0;
	d->whole++;
	return 0;
}

/* One call for each run of the buffer. */
static int domain_map(struct pagemix_run_ctx *ctx)
{
	struct own_domain *d = ctx->priv;
	unsigned long iova = range_iova(d, d->whole);
	struct pagemix_run run;
	size_t chunk = 0;
	int err;

	while (pagemix_buffer_next_run(d->buffer, &chunk, &run)) {
		err = pagemix_iommu_map(d->domain, iova + d->mapped, run.phys, run.bytes, d->prot);
		if (err)
			return err;
		d->mapped += run.bytes;
	}
	return domain_map_done(d);
}

static int domain_map_sg(struct pagemix_run_ctx *ctx)
{
	struct own_domain *d = ctx->priv;
	ssize_t mapped = pagemix_iommu_map_sg(d->domain, range_iova(d, d->whole), d->table.sgl,
					      d->table.orig_nents, d->prot);

	if (mapped < 0)
		return mapped;
	d->mapped = mapped;
	return domain_map_done(d);
}

static int domain_unmap(struct pagemix_run_ctx *ctx)
{
	struct own_domain *d = ctx->priv;
	size_t bytes = d->buffer->bytes;

	return iommu_unmap(d->domain, range_iova(d, --d->whole), bytes) == bytes ? 0 : -EIO;
}

static void domain_note_mapping(struct pagemix_run_ctx *ctx)
{
	const struct own_domain *d = ctx->priv;

	ctx->iova = range_iova(d, d->whole - 1);
	ctx->nr_mapped = d->buffer->nr_runs;
}

static int domain_setup(struct pagemix_run_ctx *ctx)
{
	struct own_domain *d;
	u64 last;
	int err;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->buffer = pagemix_buffer_of(ctx->dmabuf);
	d->prot = domain_prot(ctx->direction);
	d->stride = ALIGN(d->buffer->bytes, PMD_SIZE);
	last = range_iova(d, ctx->cold ? ctx->repetitions : 1) - 1;
	err = pagemix_buffer_sgtable(pagemix_buffer_of(ctx->dmabuf), &d->table);
	if (err)
		goto free;
	d->domain = pagemix_paging_domain_alloc(ctx->dev);
	if (IS_ERR(d->domain)) {
		err = PTR_ERR(d->domain);
		goto free_table;
	}
	err = iommu_attach_device(d->domain, ctx->dev);
	if (err)
		goto free_domain;
	err = -ERANGE;
	if (d->domain->geometry.aperture_start > DOMAIN_IOVA ||
	    d->domain->geometry.aperture_end < last)
		goto detach;
	ctx->priv = d;
	return 0;

detach:
	iommu_detach_device(d->domain, ctx->dev);
free_domain:
	iommu_domain_free(d->domain);
free_table:
	sg_free_table(&d->table);
free:
	kfree(d);
	return err;
}

static void domain_teardown(struct pagemix_run_ctx *ctx)
{
	struct own_domain *d = ctx->priv;

	if (d->mapped)	/* a map that failed half way */
		iommu_unmap(d->domain, range_iova(d, d->whole), d->mapped);
	while (d->whole) {
		domain_unmap(ctx);
		cond_resched();
	}
	iommu_detach_device(d->domain, ctx->dev);
	iommu_domain_free(d->domain);
	sg_free_table(&d->table);
	kfree(d);
}

static void domain_map_restore(struct pagemix_run_ctx *ctx)
{
	domain_note_mapping(ctx);
	if (!ctx->cold)
		domain_unmap(ctx);
}

static int domain_unmap_prepare(struct pagemix_run_ctx *ctx)
{
	int err = ctx->cold ? 0 : domain_map_sg(ctx);

	if (!err)
		domain_note_mapping(ctx);
	return err;
}

const struct pagemix_op pagemix_op_iommu_map = {
	.name = "iommu_map",
	.needs_buffer = true,
	.has_cold = true,
	.owns_domain = true,
	.setup = domain_setup,
	.op = domain_map,
	.restore = domain_map_restore,
	.teardown = domain_teardown,
};

const struct pagemix_op pagemix_op_iommu_map_sg = {
	.name = "iommu_map_sg",
	.needs_buffer = true,
	.has_cold = true,
	.owns_domain = true,
	.setup = domain_setup,
	.op = domain_map_sg,
	.restore = domain_map_restore,
	.teardown = domain_teardown,
};

const struct pagemix_op pagemix_op_iommu_unmap = {
	.name = "iommu_unmap",
	.needs_buffer = true,
	.has_cold = true,
	.owns_domain = true,
	.setup = domain_setup,
	.fill = domain_map_sg,
	.prepare = domain_unmap_prepare,
	.op = domain_unmap,
	.teardown = domain_teardown,
};
