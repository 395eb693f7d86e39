import { parseJsonText } from '../../kernel';

/** How an answer becomes bytes and comes back the same. */
export interface Codec<T> {
  encode(answer: T): Buffer;
  decode(bytes: Buffer): T;
}

export const objectCodec: Codec<object> = {
  encode: (answer) => Buffer.from(JSON.stringify(answer)),
  decode: (bytes) => parseJsonText(bytes.toString('utf8')) as object,
};
