import { editJsonInParts, type ByteParts } from '../../../kernel';
import type { Dropped } from '../../../protocol';
import { encodeForm } from './form';
import { looksLikeSteering, gatewayLabels } from './known-fields';
import { isSteering } from './steering';
import type { JsonCallBody, StyleCall } from './style';

export interface PreparedBody {
  readonly bytes: ByteParts;
  readonly contentType: string;
  readonly dropped: readonly Dropped[];
}

/** The region of a request is fulfilled by the choice of its lane. */
const lossOfSteering = (name: string): Dropped['loss'] => (name === 'region' ? 'fulfilled' : 'dropped');

export class BodyEdits {
  readonly set: Record<string, unknown> = {};
  readonly remove = new Set<string>();
  readonly dropped: Dropped[] = [];

  constructor(readonly parsed: JsonCallBody['text']['body']) {
    for (const name of Object.keys(parsed))
      if (isSteering(name)) this.drop(name, 'steers routing', lossOfSteering(name));
  }

  has(name: string): boolean {
    return Object.hasOwn(this.parsed, name) && !this.remove.has(name);
  }

  drop(name: string, reason: string, loss: Dropped['loss'] = 'dropped'): void {
    if (!this.has(name)) return;
    this.remove.add(name);
    this.dropped.push({ loss, path: name, reason, at: name, count: 1 });
  }

  dropInMessages(name: string, count: number): void {
    const path = `messages.*.${name}`;
    this.dropped.push({ loss: 'dropped', path, reason: 'unknown to the supplier', at: path, count });
  }

  /** Some gateways also read steering names from labels. */
  dropSteeringLabels(): void {
    this.dropLabels(looksLikeSteering, { loss: 'dropped', reason: 'steers routing' });
  }

  /** Labels for this gateway, such as the name of a session, are not sent to suppliers. */
  dropOwnLabels(): void {
    this.dropLabels((name) => gatewayLabels.has(name), {
      loss: 'fulfilled',
      reason: 'meant for the gateway',
    });
  }

  private dropLabels(isDropped: (name: string) => boolean, why: Pick<Dropped, 'loss' | 'reason'>): void {
    const { metadata: value = this.parsed.metadata } = this.set;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const names = Object.keys(value);
    const dropped = names.filter(isDropped);
    if (dropped.length === 0 || this.remove.has('metadata')) return;
    for (const name of dropped) {
      const path = `metadata.${name}`;
      this.dropped.push({ ...why, path, at: path, count: 1 });
    }
    delete this.set.metadata;
    if (dropped.length === names.length) this.remove.add('metadata');
    else this.set.metadata = Object.fromEntries(Object.entries(value).filter(([name]) => !isDropped(name)));
  }

  /** Loses nothing, unless the new name is already used. */
  rename(from: string, to: string): void {
    if (!this.has(from)) return;
    if (this.has(to)) return this.drop(from, `${to} says the same`, 'fulfilled');
    this.remove.add(from);
    this.set[to] = this.parsed[from];
  }

  approximate(name: string, value: unknown, reason: string): void {
    this.set[name] = value;
    this.dropped.push({ loss: 'approximated', path: name, reason, at: name, count: 1 });
  }
}

export function jsonBody(call: StyleCall, edit: (edits: BodyEdits) => void): PreparedBody {
  const { body } = call;
  if (body.kind === 'form') return formBody(call);
  const edits = new BodyEdits(body.text.body);
  edit(edits);
  const bytes = editJsonInParts(body.text, edits);
  return { bytes, contentType: 'application/json', dropped: edits.dropped };
}

/** Names of list fields in forms end in `[]`. */
export const withoutListMark = (name: string): string => (name.endsWith('[]') ? name.slice(0, -2) : name);

/** Forms are sent to a single kind of endpoint, which only needs the model renamed. */
function formBody({ body, lane }: StyleCall): PreparedBody {
  if (body.kind !== 'form') throw new Error('a form was expected');
  const dropped: Dropped[] = [];
  const fields: (readonly [string, string])[] = [['model', lane.upstreamModel]];
  for (const [name, value] of body.fields) {
    if (isSteering(withoutListMark(name)))
      dropped.push({
        loss: lossOfSteering(name),
        path: name,
        reason: 'steers routing',
        at: name,
        count: 1,
      });
    else if (name !== 'model') fields.push([name, value]);
  }
  return { ...encodeForm({ fields, files: body.files }), dropped };
}
