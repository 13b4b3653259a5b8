/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of operations and the loop that times them. */
#ifndef PAGEMIX_OPS_H
#define PAGEMIX_OPS_H

#include <linux/dma-direction.h>
#include <linux/types.h>

#include "samples.h"

struct device;
struct dma_buf;
struct sg_table;

/**
 * struct pagemix_run_ctx - one run of one operation
 * @dev:         the bound device
 * @gone:        set when the device is being unbound
 * @dmabuf:      the buffer, NULL for operations without
 * @direction:   of mappings
 * @cold:        PAGEMIX_RUN_COLD
 * @params:      of the operation, PAGEMIX_RUN_PARAMS
 * @hold:        PAGEMIX_RUN_HOLD
 * @repetitions: samples to take
 * @warmup:      untimed repetitions before
 * @samples:     room for @repetitions samples
 * @completed:   samples taken
 * @iova:        first DMA address of the last mapping
 * @nr_mapped:   DMA segments of the last mapping
 * @priv:        the operation's own state, between setup and teardown
 */
struct pagemix_run_ctx {
	struct device *dev;
	const bool *gone;
	struct dma_buf *dmabuf;
	enum dma_data_direction direction;
	bool cold;
	const u64 *params;
	bool hold;
	u32 repetitions;
	u32 warmup;

	struct pagemix_sample *samples;
	u64 completed;
	u64 iova;
	u64 nr_mapped;
	void *priv;
};

/**
 * struct pagemix_op - an operation that can be measured
 * @name:         as in PAGEMIX_IOC_TARGET_OP
 * @needs_buffer: it works on a dma-buf of this heap
 * @has_cold:     it takes PAGEMIX_RUN_COLD
 * @nr_params:    parameters it takes; @setup checks them
 * @owns_domain:  it attaches the device to a domain of its own: nothing else may
 *                use the device's domain meanwhile
 * @setup:        once, before the first repetition (optional)
 * @fill:         of cold runs: @repetitions times before the first one (optional)
 * @prepare:      before each repetition, not timed (optional)
 * @op:           timed
 * @restore:      after each successful @op, not timed (optional)
 * @teardown:     once, after a successful @setup, also after errors; undoes a
 *                successful @prepare whose @op failed (optional)
 *
 * Callbacks return 0 or a negative error, which ends the run.
 */
struct pagemix_op {
	const char *name;
	bool needs_buffer;
	bool has_cold;
	u32 nr_params;
	bool owns_domain;
	int (*setup)(struct pagemix_run_ctx *ctx);
	int (*fill)(struct pagemix_run_ctx *ctx);
	int (*prepare)(struct pagemix_run_ctx *ctx);
	int (*op)(struct pagemix_run_ctx *ctx);
	void (*restore)(struct pagemix_run_ctx *ctx);
	void (*teardown)(struct pagemix_run_ctx *ctx);
};

extern const struct pagemix_op pagemix_op_map_sgtable;
extern const struct pagemix_op pagemix_op_unmap_sgtable;
extern const struct pagemix_op pagemix_op_attach_map;
extern const struct pagemix_op pagemix_op_map_page;
extern const struct pagemix_op pagemix_op_map_single;
extern const struct pagemix_op pagemix_op_unmap_page;
extern const struct pagemix_op pagemix_op_iommu_map;
extern const struct pagemix_op pagemix_op_iommu_map_sg;
extern const struct pagemix_op pagemix_op_iommu_unmap;
extern const struct pagemix_op pagemix_op_sync_begin;
extern const struct pagemix_op pagemix_op_sync_end;
extern const struct pagemix_op pagemix_op_coherent_alloc;
extern const struct pagemix_op pagemix_op_coherent_free;
extern const struct pagemix_op pagemix_op_pool_alloc;
extern const struct pagemix_op pagemix_op_pool_free;
extern const struct pagemix_op pagemix_op_iova_link;
extern const struct pagemix_op pagemix_op_iova_unlink;

const struct pagemix_op *pagemix_op_at(u32 index);
const struct pagemix_op *pagemix_op_find(const char *name);
u32 pagemix_nr_ops(void);

int pagemix_run_interrupted(const struct pagemix_run_ctx *ctx);
int pagemix_op_run(const struct pagemix_op *op, struct pagemix_run_ctx *ctx);
u64 pagemix_sample_overhead(void);

#endif /* PAGEMIX_OPS_H */
