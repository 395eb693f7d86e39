import { parseJsonText } from '../../kernel';
import type { Codec } from '../../web';
import type { Reply } from './reply';
import type { CallSummary } from './svc-headers';

interface ReplyHead {
  readonly status: number;
  readonly contentType: string;
  readonly facts: Omit<CallSummary, 'costNano'> & { readonly costNano: string };
}

const LINE_END = 0x0a;

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
