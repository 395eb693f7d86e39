import type { Call } from './describe';
import type { Inbound } from './inbound';

/** Answers that later requests may refer to. The module that stores them registers itself for it. */
export abstract class KeptAnswers {
  /** The request with references replaced by their content; the same object where it has none. */
  abstract expand(inbound: Inbound): Inbound | Promise<Inbound>;

  /** It is undefined where nothing is stored; otherwise it settles when later requests can find the answer. */
  abstract keep(call: Call, model: string, answer: Buffer | string): Promise<void> | undefined;
}
