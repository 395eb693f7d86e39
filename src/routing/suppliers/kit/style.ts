import type { IncomingHttpHeaders } from 'node:http';
import type { Credential, CredentialKind, LaneView, ProviderView } from '../../../catalogue';
import type { Fault, JsonObjectText, Pieces } from '../../../kernel';
import type { Dropped, SupplierError, Target } from '../../../protocol';
import type { OperationName, WireDialect } from './operations';
import type { PictureRule } from './picture-rules';

/** What a supplier speaks when it is asked for an operation; one it does not serve is absent. */
export type Operations = Readonly<Partial<Record<OperationName, WireDialect>>>;

export interface JsonBody {
  readonly kind: 'json';
  readonly text: JsonObjectText;
}
export interface FormFile {
  readonly field: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}
export interface FormBody {
  readonly kind: 'form';
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly files: readonly FormFile[];
}
export type OutgoingBody = JsonBody | FormBody;

/** A call as it is decided, in the dialect of the supplier; the style makes a request of it. */
export interface OutgoingCall {
  readonly operation: OperationName;
  /** What the supplier is asked in. */
  readonly wire: WireDialect;
  readonly lane: LaneView;
  /** It is null where the supplier asks for none. */
  readonly credential: Credential | null;
  readonly body: OutgoingBody;
  readonly stream: boolean;
  /** The bound that was set money aside for, when the supplier has to be told. */
  readonly maxOutputTokens?: number | undefined;
  /** The caller's own; only what the style's list names goes further. */
  readonly headers: IncomingHttpHeaders;
  /** It is the same for one conversation, for suppliers that keep caches near it. */
  readonly sessionKey: string | null;
  /** Styles that sign with the time need it. */
  readonly now: () => Date;
}

export interface PreparedCall {
  readonly url: URL;
  readonly method: 'POST';
  readonly headers: Record<string, string>;
  readonly body: Pieces;
  /** What of the caller's body does not go further. */
  readonly dropped: readonly Dropped[];
}

/** `GET` of a list of models; below its path stands each of them. */
export interface ListCall {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Turns what a supplier wraps its streams in into the events of the dialect. */
export interface Unframer {
  /** The events that are complete now, or a fault, after which nothing follows. */
  push(chunk: Buffer): Buffer | Fault;
  end(): Fault | undefined;
}

/** What a supplier does with fields that the interface it offers does not describe. */
interface FieldPolicy {
  /** It refuses what it does not know, so everything may go on to it. */
  readonly validates: boolean;
  /** Fields of its own. */
  readonly own: (operation: OperationName) => readonly string[];
}

/**
 * A way of speaking to suppliers. Everything in it is a pure function of its arguments: what is peculiar to one
 * supplier stands in the settings of its provider.
 */
export interface SupplierStyle {
  readonly name: string;
  /** What its suppliers are usually paid with. */
  readonly credential: CredentialKind;
  /** Whether calls to this provider go without one. */
  needsCredential(provider: ProviderView): boolean;
  operations(provider: ProviderView): Operations;
  fields(provider: ProviderView): FieldPolicy;
  /** The translation of a request to the lane needs it. */
  target(lane: LaneView): Target;
  /** What it bills for pictures; left out: what no supplier known here exceeds. */
  pictures?(lane: LaneView): PictureRule;
  prepare(call: OutgoingCall): PreparedCall;
  /** How its list of models is asked for; left out or null: it has none that names what lanes ask for. */
  modelList?(provider: ProviderView, credential: Credential | null): ListCall | null;
  /** What an error body says; undefined when it says nothing. */
  readError(body: unknown, headers: IncomingHttpHeaders): SupplierError | undefined;
  /** It is there only where streams do not come as server-sent events. */
  unframer?(): Unframer;
}
