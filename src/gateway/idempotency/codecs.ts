import { parseJsonText } from '../../kernel';
import type { Reply } from '../reply/reply';
import type { CallFacts } from '../reply/svc-headers';

/** How an answer becomes bytes and comes back the same. */
export interface Codec<T> {
  encode(answer: T): Buffer;
  decode(bytes: Buffer): T;
}

interface ReplyHead {
  readonly status: number;
  readonly contentType: string;
  readonly facts: Omit<CallFacts, 'costNano'> & { readonly costNano: string };
}

const LINE_END = 0x0a;

/** A line about the answer, then its body as it is. */
export const replyCodec: Codec<Reply> = {
  encode({ status, contentType, body, facts }) {
    const head: ReplyHead = { status, contentType, facts: { ...facts, costNano: facts.costNano.toString() } };
    return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
  },
  decode(bytes) {
    const end = bytes.indexOf(LINE_END);
    const { status, contentType, facts } = parseJsonText(bytes.toString('utf8', 0, end)) as ReplyHead;
    return {
      status,
      contentType,
      body: bytes.subarray(end + 1),
      facts: { ...facts, costNano: BigInt(facts.costNano) },
    };
  },
};

export const objectCodec: Codec<object> = {
  encode: (answer) => Buffer.from(JSON.stringify(answer)),
  decode: (bytes) => parseJsonText(bytes.toString('utf8')) as object,
};
