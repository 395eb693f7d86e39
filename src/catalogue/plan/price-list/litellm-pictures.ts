import { parseUsd, parseUsdTimes } from '../../../kernel';
import type { LitellmEntry } from './litellm-entry';

/** Quality and size of a model that makes pictures: `hd/1024-x-1792/dall-e-3`. */
export interface SizedPicture {
  readonly model: string;
  /** Name of the quality and size in prices: `hd/1024x1792`. */
  readonly key: string;
  readonly pixels: bigint;
}

const SIZED_PICTURE = /^(?:([a-z0-9]+)\/)?(\d{1,5})-x-(\d{1,5})\/(?:([a-z0-9]+-steps)\/)?(.+)$/;

/** Returns null if the id names a model. */
export function sizedPicture(id: string, provider: string): SizedPicture | null {
  const path = id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;
  const match = SIZED_PICTURE.exec(path);
  if (match === null) return null;
  const [, quality, width = '', height = '', steps, model = ''] = match;
  if (steps !== undefined) throw new RangeError(`pictures are not priced by steps here (${steps})`);
  const size = `${width}x${height}`;
  return {
    model,
    key: quality === undefined ? size : `${quality}/${size}`,
    pixels: BigInt(width) * BigInt(height),
  };
}

/** Price of a picture. A price per pixel is multiplied exactly and rounded up once, to the nano-dollar. */
export function pictureRate(entry: LitellmEntry, pixels: bigint): bigint {
  const picturePrice = entry.price('output_cost_per_image') ?? entry.price('input_cost_per_image');
  if (picturePrice !== undefined) return parseUsd(picturePrice);
  const parts = [entry.price('input_cost_per_pixel'), entry.price('output_cost_per_pixel')];
  const pixelPrices = parts.filter((part) => part !== undefined);
  if (pixelPrices.length === 0) throw new RangeError('it has no price of pictures that is charged here');
  return pixelPrices.reduce((sum, text) => sum + parseUsdTimes(text, pixels), 0n);
}
