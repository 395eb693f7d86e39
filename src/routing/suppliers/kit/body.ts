import { editJsonInPieces, type Pieces } from '../../../kernel';
import type { Dropped } from '../../../protocol';
import { encodeForm } from './form';
import { looksLikeSteering, ownLabels } from './known-fields';
import { isSteering } from './steering';
import type { JsonBody, OutgoingCall } from './style';

export interface PreparedBody {
  readonly bytes: Pieces;
  readonly contentType: string;
  readonly dropped: readonly Dropped[];
}

/** The region of a request is obeyed by the choice of its lane. */
const lossOfSteering = (name: string): Dropped['loss'] => (name === 'region' ? 'fulfilled' : 'dropped');

/** Collects what has to change in a body, and what of it is lost by that. */
export class BodyEdits {
  readonly set: Record<string, unknown> = {};
  readonly remove = new Set<string>();
  readonly dropped: Dropped[] = [];

  constructor(readonly parsed: JsonBody['text']['body']) {
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

  /** A field that was left out of so many messages. */
  dropInMessages(name: string, count: number): void {
    const path = `messages.*.${name}`;
    this.dropped.push({ loss: 'dropped', path, reason: 'unknown to the supplier', at: path, count });
  }

  /** Some gateways read names that steer among the labels as well. */
  dropSteeringLabels(): void {
    this.dropLabels(looksLikeSteering, { loss: 'dropped', reason: 'steers routing' });
  }

  /** A label for this service, such as the name of a session, is for no supplier. */
  dropOwnLabels(): void {
    this.dropLabels((name) => ownLabels.has(name), { loss: 'fulfilled', reason: 'meant for the gateway' });
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

  /** The value stays, so nothing is lost, unless the new name is taken. */
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

export function jsonBody(call: OutgoingCall, edit: (edits: BodyEdits) => void): PreparedBody {
  const { body } = call;
  if (body.kind === 'form') return formBody(call);
  const edits = new BodyEdits(body.text.body);
  edit(edits);
  const bytes = editJsonInPieces(body.text, edits);
  return { bytes, contentType: 'application/json', dropped: edits.dropped };
}

/** In forms, names of lists end in `[]`. */
export const withoutListMark = (name: string): string => (name.endsWith('[]') ? name.slice(0, -2) : name);

/** Forms go to one kind of endpoint, whose only peculiarity is the name of the model. */
function formBody({ body, lane }: OutgoingCall): PreparedBody {
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
