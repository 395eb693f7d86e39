import { fault } from '../../kernel';
import type { ModelRoute, RouteDirectory } from '../../routing';
import type { Lifecycle } from '../lifecycle';
import type { Call } from './describe';
import type { Inbound } from './inbound';

export interface Admission {
  readonly route: ModelRoute;
}

/** The cheap refusals, in order; nothing has been spent or sent when one of them fires. */
export function admit(inbound: Inbound, call: Call, routes: RouteDirectory, lifecycle: Lifecycle): Admission {
  if (lifecycle.draining) throw fault('pod_draining');
  const { allowedModels } = inbound.caller;
  const route = routes.routeOf(call.model);
  if (route === null) {
    throw fault('model_not_found', { param: 'model', message: `There is no model "${call.model}".` });
  }
  if (allowedModels !== null && !allowedModels.has(route.model)) throw fault('model_not_allowed', { param: 'model' });
  return { route };
}
