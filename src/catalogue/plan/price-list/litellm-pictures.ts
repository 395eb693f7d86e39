import { parseUsd, parseUsdTimes } from '../../../kernel';
import type { LitellmEntry } from './litellm-entry';

/** It is one quality and size of a model that makes pictures: `hd/1024-x-1792/dall-e-3`. */
export interface SizedPicture {
  readonly model: string;
  /** Prices name it like this: `hd/1024x1792`. */
  readonly key: string;
  readonly pixels: bigint;
}

const SIZED = /^(?:([a-z0-9]+)\/)?(\d{1,5})-x-(\d{1,5})\/(?:([a-z0-9]+-steps)\/)?(.+)$/;

/** It is null where the id is that of a model. */
export function sizedPicture(id: string, provider: string): SizedPicture | null {
  const plain = id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;
  const found = SIZED.exec(plain);
  if (found === null) return null;
  const [, quality, width = '', height = '', steps, model = ''] = found;
  if (steps !== undefined) throw new RangeError(`pictures are not priced by steps here (${steps})`);
  const size = `${width}x${height}`;
  return {
    model,
    key: quality === undefined ? size : `${quality}/${size}`,
    pixels: BigInt(width) * BigInt(height),
  };
}

/** The price of one picture. A price by the pixel is multiplied exactly and rounded up once, to the nano-dollar. */
export function pictureRate(entry: LitellmEntry, pixels: bigint): bigint {
  const whole = entry.price('output_cost_per_image') ?? entry.price('input_cost_per_image');
  if (whole !== undefined) return parseUsd(whole);
  const parts = [entry.price('input_cost_per_pixel'), entry.price('output_cost_per_pixel')];
  const pixel = parts.filter((part) => part !== undefined);
  if (pixel.length === 0) throw new RangeError('it has no price of pictures that is charged here');
  return pixel.reduce((sum, text) => sum + parseUsdTimes(text, pixels), 0n);
}
