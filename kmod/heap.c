// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/dma_heap/pagemix
 *
 * A misc device and not dma_heap_add(): that is exported to modules only from
 * 6.18 on, and a heap added with it can never be removed.
 */
#include <linux/capability.h>
#include <uapi/linux/dma-heap.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/uaccess.h>

#include "buffer.h"
#include "compat.h"
#include "heap.h"

/* A buffer and a descriptor number for it, which heap_publish_fd() installs. */
static int heap_create(const struct pagemix_alloc *args, struct dma_buf **dmabuf)
{
	int fd;

	*dmabuf = pagemix_buffer_create(args);
	if (IS_ERR(*dmabuf))
		return PTR_ERR(*dmabuf);
	fd = get_unused_fd_flags(args->fd_flags & O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(*dmabuf);
	return fd;
}

/* The fd shows up only after user space has been told its number. */
static long heap_publish_fd(struct dma_buf *dmabuf, int fd, unsigned long not_copied)
{
	if (not_copied) {
		put_unused_fd(fd);
		dma_buf_put(dmabuf);
		return -EFAULT;
	}
	fd_install(fd, dmabuf->file);
	return 0;
}

static long heap_alloc_default(void __user *arg)
{
	struct dma_heap_allocation_data data;
	struct pagemix_alloc args = {
		.layout = PAGEMIX_LAYOUT_BUDDY,
		.nsteps = pagemix_default_nsteps,
	};
	struct dma_buf *dmabuf;
	int fd;

	if (copy_from_user(&data, arg, sizeof(data)))
		return -EFAULT;
	/* As dma_heap_ioctl_allocate(): fd is an output, and checked to be 0. */
	if (data.fd || data.heap_flags)
		return -EINVAL;
	args.bytes = data.len;
	args.fd_flags = data.fd_flags;
	memcpy(args.steps, pagemix_default_steps,
	       pagemix_default_nsteps * sizeof(args.steps[0]));

	fd = heap_create(&args, &dmabuf);
	if (fd < 0)
		return fd;
	data.fd = fd;
	return heap_publish_fd(dmabuf, fd, copy_to_user(arg, &data, sizeof(data)));
}

static long heap_alloc(void __user *arg)
{
	struct pagemix_alloc args;
	struct dma_buf *dmabuf;
	int fd;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.version != PAGEMIX_UAPI_VERSION || args.flags)
		return -EINVAL;

	fd = heap_create(&args, &dmabuf);
	if (fd < 0)
		return fd;
	args.fd = fd;
	return heap_publish_fd(dmabuf, fd, copy_to_user(arg, &args, sizeof(args)));
}

static long heap_info(void __user *arg)
{
	struct pagemix_heap_info info;
	u32 version;

	if (get_user(version, (u32 __user *)arg))
		return -EFAULT;
	if (version != PAGEMIX_UAPI_VERSION)
		return -EINVAL;
	memset(&info, 0, sizeof(info));
	info.version = PAGEMIX_UAPI_VERSION;
	info.max_order = MAX_PAGE_ORDER;
	info.page_size = PAGE_SIZE;
	info.default_nsteps = pagemix_default_nsteps;
	memcpy(info.default_steps, pagemix_default_steps,
	       pagemix_default_nsteps * sizeof(info.default_steps[0]));
	strscpy(info.module_version, PAGEMIX_VERSION, sizeof(info.module_version));
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long heap_buf_info(void __user *arg)
{
	const struct pagemix_buffer *buffer;
	struct pagemix_buf_info info;
	struct dma_buf *dmabuf;
	long err = 0;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	if (info.version != PAGEMIX_UAPI_VERSION || info.pad)
		return -EINVAL;
	dmabuf = dma_buf_get(info.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	buffer = pagemix_buffer_of(dmabuf);
	if (!buffer) {
		err = -EINVAL;
		goto out;
	}
	info.bytes = buffer->bytes;
	info.seed = buffer->seed;
	info.layout = buffer->layout;
	info.nr_chunks = buffer->chunks.nr;
	info.nr_runs = buffer->nr_runs;
	info.largest_run = buffer->largest_run;
	info.alloc_ns = buffer->chunks.alloc_ns;
	memcpy(info.chunks, buffer->chunks.by_order, sizeof(info.chunks));
	memcpy(info.order_ns, buffer->chunks.order_ns, sizeof(info.order_ns));
	memcpy(info.order_fails, buffer->chunks.order_fails, sizeof(info.order_fails));
	if (copy_to_user(arg, &info, sizeof(info)))
		err = -EFAULT;
out:
	dma_buf_put(dmabuf);
	return err;
}

static long heap_copy_runs(const struct pagemix_buffer *buffer, struct pagemix_run __user *to)
{
	struct pagemix_run run;
	size_t chunk = 0;

	while (pagemix_buffer_next_run(buffer, &chunk, &run)) {
		if (copy_to_user(to++, &run, sizeof(run)))
			return -EFAULT;
	}
	return 0;
}

static long heap_buf_runs(void __user *arg)
{
	const struct pagemix_buffer *buffer;
	struct pagemix_buf_runs args;
	struct dma_buf *dmabuf;
	long err;
	u32 capacity;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.version != PAGEMIX_UAPI_VERSION || args.flags)
		return -EINVAL;
	dmabuf = dma_buf_get(args.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	buffer = pagemix_buffer_of(dmabuf);
	if (!buffer) {
		err = -EINVAL;
		goto out;
	}
	capacity = args.capacity;
	args.capacity = buffer->nr_runs;
	err = copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
	if (!err && capacity < buffer->nr_runs)
		err = -ENOSPC;
	if (!err)
		err = heap_copy_runs(buffer, u64_to_user_ptr(args.runs));
out:
	dma_buf_put(dmabuf);
	return err;
}

static long heap_buf_attachments(void __user *arg)
{
	struct pagemix_buf_attachments args;
	struct pagemix_buffer *buffer;
	struct dma_buf *dmabuf;
	long err = -EINVAL;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.version != PAGEMIX_UAPI_VERSION || args.pad)
		return -EINVAL;
	dmabuf = dma_buf_get(args.fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	buffer = pagemix_buffer_of(dmabuf);
	if (buffer) {
		pagemix_buffer_attachments(buffer, &args);
		err = copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
	}
	dma_buf_put(dmabuf);
	return err;
}

static long heap_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case DMA_HEAP_IOCTL_ALLOC:
		return heap_alloc_default(user);
	case PAGEMIX_IOC_HEAP_INFO:
		return heap_info(user);
	case PAGEMIX_IOC_ALLOC:
		return heap_alloc(user);
	case PAGEMIX_IOC_BUF_INFO:
		return heap_buf_info(user);
	case PAGEMIX_IOC_BUF_RUNS:
		return heap_buf_runs(user);
	case PAGEMIX_IOC_BUF_ATTACHMENTS:
		return heap_buf_attachments(user);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations heap_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = heap_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice heap_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pagemix_heap",
	.nodename = "dma_heap/pagemix",
	.mode = 0600,
	.fops = &heap_fops,
};

int pagemix_heap_register(void)
{
	return misc_register(&heap_misc);
}

void pagemix_heap_unregister(void)
{
	misc_deregister(&heap_misc);
}
