import type { GateRequest } from '#extension';
import { recordedFor } from '../../keys';
import type { Call } from './describe';
import { textsOf } from './request-texts';

const NO_TAGS: readonly string[] = Object.freeze([]);

/** A request as gates see it. Several may hold the same one, so nothing of it can be changed. */
export const gateRequestOf = (call: Call): GateRequest => Object.freeze(new SeenRequest(call));

/** A class, as an object with a getter of its own takes as long to make as all the rest of a gate's work. */
class SeenRequest implements GateRequest {
  readonly requestId: string;
  readonly operation: string;
  readonly model: string;
  readonly stream: boolean;
  readonly region: string | null;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly key: GateRequest['key'];
  readonly #call: Call;
  #texts: GateRequest['texts'] | null = null;

  constructor(call: Call) {
    const { caller, requestId } = call.inbound;
    const { userId, organisationId, departmentId, projectId } = recordedFor(caller);
    this.#call = call;
    this.requestId = requestId;
    this.operation = call.operation.name;
    this.model = call.model;
    this.stream = call.stream;
    this.region = call.region;
    this.endUser = call.endUser;
    this.tags = call.tags === null ? NO_TAGS : Object.freeze([...call.tags]);
    this.key = Object.freeze({ id: caller.keyId, userId, organisationId, departmentId, projectId });
  }

  get texts(): GateRequest['texts'] {
    return (this.#texts ??= Object.freeze(textsOf(this.#call).map(({ piece }) => piece)));
  }

  toJSON(): GateRequest {
    return { ...this, texts: this.texts };
  }
}
