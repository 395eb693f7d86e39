import { parseJsonText } from '../../kernel';

/** An answer becomes bytes by the codec, and comes back the same. */
export interface Codec<T> {
  encode(answer: T): Buffer;
  decode(bytes: Buffer): T;
}

export const objectCodec: Codec<object> = {
  encode: (answer) => Buffer.from(JSON.stringify(answer)),
  decode: (bytes) => parseJsonText(bytes.toString('utf8')) as object,
};
