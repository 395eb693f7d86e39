import type { GateRequest } from '#extension';
import { recordedFor } from '../../keys';
import type { Call } from './describe';
import { textsOf } from './request-texts';

const NO_TAGS: readonly string[] = Object.freeze([]);

/** A request as gates see it. Several may hold the same one, so nothing of it can be changed. */
export function gateRequestOf(call: Call): GateRequest {
  const { inbound, operation, model, stream, region, endUser, tags } = call;
  const { caller, requestId } = inbound;
  const { userId, organisationId, departmentId, projectId } = recordedFor(caller);
  let texts: GateRequest['texts'] | null = null;
  return Object.freeze({
    requestId,
    operation: operation.name,
    model,
    stream,
    region,
    endUser,
    tags: tags === null ? NO_TAGS : Object.freeze([...tags]),
    key: Object.freeze({ id: caller.keyId, userId, organisationId, departmentId, projectId }),
    get texts() {
      return (texts ??= Object.freeze(textsOf(call).map(({ piece }) => piece)));
    },
  });
}
