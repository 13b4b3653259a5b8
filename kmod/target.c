// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bound devices and their nodes, /dev/pagemix/<device>.
 *
 * The PCI and platform drivers match only by driver_override, as the kernel's
 * dma_map_benchmark does. The device itself is never touched: it only lends its
 * IOMMU domain.
 */
#include <linux/dma-buf.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/iommu.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "compat.h"
#include "ops.h"
#include "target.h"

/**
 * struct pagemix_target - a bound device
 * @ref:  one for the binding, one for each open file
 * @lock: held for reading while the device is used, for writing by unbind
 * @domain_lock: held for writing by a run that attaches the device to a domain of
 *        its own, for reading by all that use the device's domain; inside @lock
 * @gone: unbind has begun
 * @dev:  the device, valid while !@gone under @lock
 * @misc: its node
 */
struct pagemix_target {
	struct kref ref;
	struct rw_semaphore lock;
	struct rw_semaphore domain_lock;
	bool gone;
	struct device *dev;
	struct miscdevice misc;
};

/**
 * struct pagemix_file - an open node
 * @target: the device
 * @lock:   one call at a time
 * @ring:   its samples
 */
struct pagemix_file {
	struct pagemix_target *target;
	struct mutex lock;
	struct pagemix_ring ring;
};

static void target_release(struct kref *ref)
{
	struct pagemix_target *target = container_of(ref, struct pagemix_target, ref);

	kfree(target->misc.name);
	kfree(target->misc.nodename);
	kfree(target);
}

static u32 target_domain(const struct iommu_domain *domain)
{
	if (!domain)
		return PAGEMIX_DOMAIN_NONE;
	switch (domain->type) {
	case IOMMU_DOMAIN_IDENTITY:
		return PAGEMIX_DOMAIN_IDENTITY;
	case IOMMU_DOMAIN_DMA:
		return PAGEMIX_DOMAIN_STRICT;
	case IOMMU_DOMAIN_DMA_FQ:
		return PAGEMIX_DOMAIN_LAZY;
	default:
		return PAGEMIX_DOMAIN_OTHER;
	}
}

static long target_info(struct pagemix_file *file, void __user *arg)
{
	struct pagemix_target *target = file->target;
	struct device *dev = target->dev;
	const struct iommu_domain *domain;
	struct pagemix_target_info info;
	u32 version;

	if (get_user(version, (u32 __user *)arg))
		return -EFAULT;
	if (version != PAGEMIX_UAPI_VERSION)
		return -EINVAL;
	memset(&info, 0, sizeof(info));
	info.version = PAGEMIX_UAPI_VERSION;
	/* A run's own domain is freed at its end, and is not what serves the DMA API. */
	if (down_read_interruptible(&target->domain_lock))
		return -EINTR;
	domain = iommu_get_domain_for_dev(dev);
	info.domain = target_domain(domain);
	if (domain && domain->pgsize_bitmap) {
		info.pgsize_bitmap = domain->pgsize_bitmap;
		info.granule = 1ULL << __ffs(domain->pgsize_bitmap);
	}
	up_read(&target->domain_lock);
	info.dma_mask = dma_get_mask(dev);
	info.counter_hz = pagemix_counter_hz();
	info.counter_step = pagemix_counter_step();
	info.sample_overhead = pagemix_sample_overhead();
	info.coherent = dev_is_dma_coherent(dev);
	info.nr_ops = pagemix_nr_ops();
	strscpy(info.module_version, PAGEMIX_VERSION, sizeof(info.module_version));
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long target_op(void __user *arg)
{
	const struct pagemix_op *op;
	struct pagemix_target_op args;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.version != PAGEMIX_UAPI_VERSION)
		return -EINVAL;
	op = pagemix_op_at(args.index);
	if (!op)
		return -EINVAL;
	memset(args.name, 0, sizeof(args.name));
	strscpy(args.name, op->name, sizeof(args.name));
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

static long target_ring(struct pagemix_file *file, void __user *arg)
{
	struct pagemix_target_ring args;
	int err;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.version != PAGEMIX_UAPI_VERSION || args.flags)
		return -EINVAL;
	err = pagemix_ring_make(&file->ring, args.capacity);
	if (err)
		return err;
	args.bytes = file->ring.bytes;
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

/* Check a run's arguments and find its operation. */
static const struct pagemix_op *target_run_op(const struct pagemix_file *file,
					      const struct pagemix_target_run *args)
{
	const struct pagemix_op *op;
	size_t len;

	if (args->version != PAGEMIX_UAPI_VERSION ||
	    args->flags & ~(PAGEMIX_RUN_COLD | PAGEMIX_RUN_HOLD))
		return ERR_PTR(-EINVAL);
	if (args->direction > DMA_FROM_DEVICE)
		return ERR_PTR(-EINVAL);
	if (!args->repetitions || args->repetitions > file->ring.capacity)
		return ERR_PTR(-EINVAL);
	if (args->warmup > PAGEMIX_MAX_SAMPLES ||
	    (args->warmup && args->flags & PAGEMIX_RUN_COLD))
		return ERR_PTR(-EINVAL);
	len = strnlen(args->op, sizeof(args->op));
	if (len == sizeof(args->op) || memchr_inv(args->op + len, 0, sizeof(args->op) - len))
		return ERR_PTR(-EINVAL);
	op = pagemix_op_find(args->op);
	if (!op)
		return ERR_PTR(-EOPNOTSUPP);
	if (!op->pair->needs_buffer && args->fd != -1)
		return ERR_PTR(-EINVAL);
	if (!pagemix_op_takes(op, args->flags))
		return ERR_PTR(-EINVAL);
	if (memchr_inv(args->params + op->pair->nr_params, 0,
		       sizeof(args->params) - op->pair->nr_params * sizeof(*args->params)))
		return ERR_PTR(-EINVAL);
	if (args->flags & PAGEMIX_RUN_HOLD &&
	    (args->flags & PAGEMIX_RUN_COLD || args->repetitions != 1 || args->warmup))
		return ERR_PTR(-EINVAL);
	return op;
}

/* Never waits: the other run may last as long as it likes. */
static bool target_trylock_domain(struct pagemix_target *target, const struct pagemix_op *op)
{
	return op->pair->owns_domain ? down_write_trylock(&target->domain_lock)
			       : down_read_trylock(&target->domain_lock);
}

static void target_unlock_domain(struct pagemix_target *target, const struct pagemix_op *op)
{
	if (op->pair->owns_domain)
		up_write(&target->domain_lock);
	else
		up_read(&target->domain_lock);
}

static long target_run(struct pagemix_file *file, void __user *arg)
{
	const struct pagemix_op *op;
	struct pagemix_target_run args;
	struct pagemix_run_ctx ctx;
	long err;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	op = target_run_op(file, &args);
	if (IS_ERR(op))
		return PTR_ERR(op);

	ctx = (struct pagemix_run_ctx) {
		.dev = file->target->dev,
		.gone = &file->target->gone,
		.direction = args.direction,
		.attrs = PAGEMIX_MAP_ATTRS,
		.cold = args.flags & PAGEMIX_RUN_COLD,
		.params = args.params,
		.hold = args.flags & PAGEMIX_RUN_HOLD,
		.repetitions = args.repetitions,
		.warmup = args.warmup,
		.samples = file->ring.v,
	};
	if (op->pair->needs_buffer) {
		ctx.dmabuf = dma_buf_get(args.fd);
		if (IS_ERR(ctx.dmabuf))
			return PTR_ERR(ctx.dmabuf);
		ctx.buffer = pagemix_buffer_of(ctx.dmabuf);
		if (!ctx.buffer) {
			dma_buf_put(ctx.dmabuf);
			return -EINVAL;
		}
	}
	err = -EBUSY;
	if (target_trylock_domain(file->target, op)) {
		err = pagemix_op_run(op, &ctx);
		target_unlock_domain(file->target, op);
	}
	if (ctx.dmabuf)
		dma_buf_put(ctx.dmabuf);

	args.completed = ctx.completed;
	args.iova = ctx.iova;
	args.nr_mapped = ctx.nr_mapped;
	if (copy_to_user(arg, &args, sizeof(args)))
		return -EFAULT;
	return err;
}

static long target_call(struct pagemix_file *file, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case PAGEMIX_IOC_TARGET_INFO:
		return target_info(file, arg);
	case PAGEMIX_IOC_TARGET_OP:
		return target_op(arg);
	case PAGEMIX_IOC_TARGET_RING:
		return target_ring(file, arg);
	case PAGEMIX_IOC_TARGET_RUN:
		return target_run(file, arg);
	default:
		return -ENOTTY;
	}
}

static long target_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct pagemix_file *file = filp->private_data;
	struct pagemix_target *target = file->target;
	long err;

	if (mutex_lock_interruptible(&file->lock))
		return -EINTR;
	down_read(&target->lock);
	err = target->gone ? -ENODEV : target_call(file, cmd, (void __user *)arg);
	up_read(&target->lock);
	mutex_unlock(&file->lock);
	return err;
}

static int target_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct pagemix_file *file = filp->private_data;

	return pagemix_ring_mmap(&file->ring, vma);
}

static int target_open(struct inode *inode, struct file *filp)
{
	/* misc_open() set it, under the lock that misc_deregister() takes. */
	struct pagemix_target *target =
		container_of(filp->private_data, struct pagemix_target, misc);
	struct pagemix_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	kref_get(&target->ref);
	file->target = target;
	filp->private_data = file;
	return 0;
}

static int target_close(struct inode *inode, struct file *filp)
{
	struct pagemix_file *file = filp->private_data;

	pagemix_ring_free(&file->ring);
	kref_put(&file->target->ref, target_release);
	kfree(file);
	return 0;
}

static const struct file_operations target_fops = {
	.owner = THIS_MODULE,
	.open = target_open,
	.release = target_close,
	.mmap = target_mmap,
	.unlocked_ioctl = target_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static int target_bind(struct device *dev)
{
	struct pagemix_target *target;
	int err;

	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	dma_set_max_seg_size(dev, UINT_MAX);

	target = kzalloc(sizeof(*target), GFP_KERNEL);
	if (!target)
		return -ENOMEM;
	kref_init(&target->ref);
	init_rwsem(&target->lock);
	init_rwsem(&target->domain_lock);
	target->dev = dev;
	target->misc.minor = MISC_DYNAMIC_MINOR;
	target->misc.name = kasprintf(GFP_KERNEL, "pagemix_%s", dev_name(dev));
	target->misc.nodename = kasprintf(GFP_KERNEL, "pagemix/%s", dev_name(dev));
	target->misc.mode = 0600;
	target->misc.fops = &target_fops;
	target->misc.parent = dev;
	err = -ENOMEM;
	if (target->misc.name && target->misc.nodename)
		err = misc_register(&target->misc);
	if (err) {
		kref_put(&target->ref, target_release);
		return err;
	}
	dev_set_drvdata(dev, target);
	return 0;
}

static void target_unbind(struct device *dev)
{
	struct pagemix_target *target = dev_get_drvdata(dev);

	misc_deregister(&target->misc);
	WRITE_ONCE(target->gone, true);
	/* A run sees @gone within one repetition and ends with ENODEV. */
	down_write(&target->lock);
	target->dev = NULL;
	up_write(&target->lock);
	kref_put(&target->ref, target_release);
}

static int target_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return target_bind(&pdev->dev);
}

static void target_pci_remove(struct pci_dev *pdev)
{
	target_unbind(&pdev->dev);
}

static struct pci_driver target_pci_driver = {
	.name = "pagemix",
	.probe = target_pci_probe,
	.remove = target_pci_remove,
};

static int target_platform_probe(struct platform_device *pdev)
{
	return target_bind(&pdev->dev);
}

static void target_platform_remove(struct platform_device *pdev)
{
	target_unbind(&pdev->dev);
}

static struct platform_driver target_platform_driver = {
	.probe = target_platform_probe,
	.pagemix_platform_remove = target_platform_remove,
	.driver = {
		.name = "pagemix",
	},
};

int pagemix_target_register(void)
{
	int err;

	err = platform_driver_register(&target_platform_driver);
	if (err)
		return err;
	err = pci_register_driver(&target_pci_driver);
	if (err)
		platform_driver_unregister(&target_platform_driver);
	return err;
}

void pagemix_target_unregister(void)
{
	pci_unregister_driver(&target_pci_driver);
	platform_driver_unregister(&target_platform_driver);
}
