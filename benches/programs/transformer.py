"""A block of a transformer: causal attention of four heads, then two layers, each behind a norm."""
import torch
import torch.nn.functional as F

batch, time, heads, width = 2, 16, 4, 64


def numbers(shape, scale):
    place = torch.arange(torch.Size(shape).numel()) * 7919 % 1009
    return ((place.float() / 1009 - 0.5) * scale).reshape(shape)


x = numbers((batch, time, width), 2.0)
w_qkv, w_out = numbers((width, 3 * width), 0.5), numbers((width, width), 0.5)
w_up, w_down = numbers((width, 4 * width), 0.5), numbers((4 * width, width), 0.5)
gain, bias = torch.full((width,), 1.5), torch.full((width,), 0.1)

h = F.layer_norm(x, (width,), gain, bias)
q, k, v = (h @ w_qkv).reshape(batch, time, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
x = x + o.transpose(1, 2).reshape(batch, time, width) @ w_out
h = F.layer_norm(x, (width,), gain, bias)
x = x + F.gelu(h @ w_up, approximate="tanh") @ w_down
print("transformer", x.abs().max().item(), x[1, 15, :4].tolist())
