/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations: what can be done and undone, and timed. */
#ifndef PAGEMIX_OPS_H
#define PAGEMIX_OPS_H

#include <linux/dma-direction.h>
#include <linux/types.h>

#include "samples.h"

struct device;
struct dma_buf;
struct pagemix_buffer;

/**
 * struct pagemix_run_ctx - one run of one operation
 * @dev:         the bound device
 * @gone:        set when the device is being unbound
 * @dmabuf:      the buffer, NULL for operations without
 * @buffer:      behind @dmabuf
 * @direction:   of mappings
 * @attrs:       of mappings, DMA_ATTR_*
 * @cold:        PAGEMIX_RUN_COLD
 * @hold:        PAGEMIX_RUN_HOLD
 * @params:      of the operation, PAGEMIX_RUN_PARAMS
 * @repetitions: samples to take
 * @warmup:      untimed repetitions before
 * @slot_size:   bytes of a slot: the pair's, if its setup does not change it
 * @samples:     room for @repetitions samples
 * @completed:   samples taken
 * @iova:        first DMA address of the last repetition
 * @nr_mapped:   its DMA segments
 * @priv:        the pair's own state, between setup and teardown
 */
struct pagemix_run_ctx {
	struct device *dev;
	const bool *gone;
	struct dma_buf *dmabuf;
	const struct pagemix_buffer *buffer;
	enum dma_data_direction direction;
	unsigned long attrs;
	bool cold;
	bool hold;
	const u64 *params;
	u32 repetitions;
	u32 warmup;
	size_t slot_size;

	struct pagemix_sample *samples;
	u64 completed;
	u64 iova;
	u64 nr_mapped;
	void *priv;
};

/**
 * enum pagemix_cold - what a cold run of a pair is
 * @PAGEMIX_COLD_NONE:  there is none
 * @PAGEMIX_COLD_FRESH: each repetition has a new slot; only of the first half
 * @PAGEMIX_COLD_ALL:   each repetition has a slot of its own, and all are applied
 *                      before the first is undone
 */
enum pagemix_cold {
	PAGEMIX_COLD_NONE,
	PAGEMIX_COLD_FRESH,
	PAGEMIX_COLD_ALL,
};

/**
 * struct pagemix_pair - something that can be done and undone
 * @needs_buffer: it works on a dma-buf of this heap
 * @owns_domain:  it attaches the device to a domain of its own: nothing else may
 *                use the device's domain meanwhile
 * @takes_attrs:  it hands the attributes of the run to the DMA API
 * @cold:         what its cold runs are
 * @nr_params:    parameters it takes; @setup checks them
 * @slot_size:    bytes that it keeps of one time it was done; zeroed at first
 * @setup:        once, before anything else (optional)
 * @slot_init:    before @apply: once for the slot of a warm run, each time in a
 *                cold one (optional)
 * @apply:        do it: all of it, or nothing and an error
 * @undo:         undo it: nothing is left, also where it gives an error; NULL if
 *                @apply leaves nothing
 * @note:         tells the run's @iova and @nr_mapped of what is done (optional)
 * @slot_exit:    undoes @slot_init (optional)
 * @teardown:     undoes @setup (optional)
 *
 * The runner (run.c) decides what is timed, when slots are made, and in which
 * order things are undone. Callbacks return 0 or a negative error, which ends the
 * run.
 */
struct pagemix_pair {
	bool needs_buffer;
	bool owns_domain;
	bool takes_attrs;
	enum pagemix_cold cold;
	u32 nr_params;
	size_t slot_size;
	int (*setup)(struct pagemix_run_ctx *ctx);
	int (*slot_init)(struct pagemix_run_ctx *ctx, void *slot, u32 index);
	int (*apply)(struct pagemix_run_ctx *ctx, void *slot);
	int (*undo)(struct pagemix_run_ctx *ctx, void *slot);
	void (*note)(struct pagemix_run_ctx *ctx, const void *slot);
	void (*slot_exit)(struct pagemix_run_ctx *ctx, void *slot);
	void (*teardown)(struct pagemix_run_ctx *ctx);
};

/**
 * enum pagemix_half - which half of a pair is timed
 * @PAGEMIX_APPLY: the first
 * @PAGEMIX_UNDO:  the second
 */
enum pagemix_half {
	PAGEMIX_APPLY,
	PAGEMIX_UNDO,
};

/**
 * struct pagemix_op - an operation that can be measured
 * @name: as in PAGEMIX_IOC_TARGET_OP
 * @pair: what it belongs to
 * @half: of @pair
 */
struct pagemix_op {
	const char *name;
	const struct pagemix_pair *pair;
	enum pagemix_half half;
};

extern const struct pagemix_pair pagemix_sgtable;
extern const struct pagemix_pair pagemix_attach;
extern const struct pagemix_pair pagemix_page;
extern const struct pagemix_pair pagemix_single;
extern const struct pagemix_pair pagemix_domain_runs;
extern const struct pagemix_pair pagemix_domain_sg;
extern const struct pagemix_pair pagemix_sync;
extern const struct pagemix_pair pagemix_coherent;
extern const struct pagemix_pair pagemix_pool;
extern const struct pagemix_pair pagemix_iova;

const struct pagemix_op *pagemix_op_at(u32 index);
const struct pagemix_op *pagemix_op_find(const char *name);
u32 pagemix_nr_ops(void);
bool pagemix_op_takes(const struct pagemix_op *op, u32 flags);

int pagemix_run_interrupted(const struct pagemix_run_ctx *ctx);
int pagemix_op_run(const struct pagemix_op *op, struct pagemix_run_ctx *ctx);
u64 pagemix_sample_overhead(void);

#endif /* PAGEMIX_OPS_H */
