import { parseJsonText } from '../../kernel';

export interface Codec<T> {
  encode(answer: T): Buffer;
  decode(bytes: Buffer): T;
}

export const objectCodec: Codec<object> = {
  encode: (answer) => Buffer.from(JSON.stringify(answer)),
  decode: (bytes) => parseJsonText(bytes.toString('utf8')) as object,
};
