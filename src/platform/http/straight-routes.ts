import type { IncomingMessage, ServerResponse } from 'node:http';
import { type CanActivate, ForbiddenException } from '@nestjs/common';
import {
  REDIRECT_METADATA,
  RENDER_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';
import { FORBIDDEN_MESSAGE } from '@nestjs/core/guards/constants';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import { RouterExecutionContext } from '@nestjs/core/router/router-execution-context';
import { isObservable, lastValueFrom } from 'rxjs';

type Create = RouterExecutionContext['create'];
type Route = Parameters<Create>;

/** What Nest's own types keep to themselves: who finds the guards of a route, and its interceptors. */
interface Finders {
  readonly guardsContextCreator: { create(...of: unknown[]): CanActivate[] };
  readonly interceptorsContextCreator: { create(...of: unknown[]): unknown[] };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const { value: usual } = Object.getOwnPropertyDescriptor(RouterExecutionContext.prototype, 'create') as {
  value: Create;
};
const served = new WeakSet();

/**
 * Nest awaits the guards of a route, its interceptors, its handler and what becomes of the answer one after the other,
 * whether there are any or not: ten promises a request. A handler that takes the request and the response alone and
 * sends what it answers needs its guards and nothing else. Nest still finds those, and handles what is thrown.
 */
export function serveStraight(adapter: object): void {
  served.add(adapter);
  RouterExecutionContext.prototype.create = function (...route) {
    const isStraight = served.has(this.applicationRef) && answersItself(this, route);
    return isStraight ? straight(this, route) : usual.apply(this, route);
  };
}

function answersItself(execution: RouterExecutionContext, route: Route): boolean {
  const [instance, callback, name, module, verb, contextId, inquirerId] = route;
  if (!takesBothOnly(instance.constructor, name)) return false;
  const { isSseHandler, hasCustomHeaders } = execution.getMetadata(
    instance,
    callback,
    name,
    module,
    verb,
    'http',
  );
  const isAnswered = [RENDER_METADATA, REDIRECT_METADATA].some((key) => Reflect.hasMetadata(key, callback));
  if (isSseHandler || hasCustomHeaders || isAnswered) return false;
  const { interceptorsContextCreator } = execution as unknown as Finders;
  return interceptorsContextCreator.create(instance, callback, module, contextId, inquirerId).length === 0;
}

/** `@Req()` first, `@Res()` second, nothing else, and nobody but the handler answers. */
function takesBothOnly(controller: object, name: string): boolean {
  const wanted = [`${RouteParamtypes.REQUEST}:0`, `${RouteParamtypes.RESPONSE}:1`];
  const taken = Object.keys((Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) as object) ?? {});
  return (
    taken.length === wanted.length &&
    wanted.every((argument) => taken.includes(argument)) &&
    Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name) !== true
  );
}

function straight(execution: RouterExecutionContext, route: Route): ReturnType<Create> {
  const [instance, callback, name, module, verb, contextId, inquirerId] = route;
  const { guardsContextCreator } = execution as unknown as Finders;
  const guards = guardsContextCreator.create(instance, callback, module, contextId, inquirerId);
  const { httpStatusCode } = execution.getMetadata(instance, callback, name, module, verb, 'http');
  const handle = callback.bind(instance) as Handler;
  const serve: Handler = (request, response) => {
    execution.applicationRef.status(response, httpStatusCode);
    return handle(request, response);
  };
  const answer = (request: IncomingMessage, response: ServerResponse, next: unknown): Promise<void> => {
    const context = new ExecutionContextHost(
      [request, response, next],
      instance.constructor as never,
      callback,
    );
    for (let at = 0; at < guards.length; at += 1) {
      const may = guards[at]!.canActivate(context);
      if (may !== true) return pass(may, guards.slice(at + 1), context).then(() => serve(request, response));
    }
    return serve(request, response);
  };
  return answer as ReturnType<Create>;
}

type Verdict = ReturnType<CanActivate['canActivate']>;

/** From the first guard on that does not say yes at once. */
async function pass(
  first: Verdict,
  others: readonly CanActivate[],
  context: ExecutionContextHost,
): Promise<void> {
  const may = isObservable(first) ? lastValueFrom(first) : first;
  if (!(await may)) throw new ForbiddenException(FORBIDDEN_MESSAGE);
  const [next, ...rest] = others;
  if (next !== undefined) await pass(next.canActivate(context), rest, context);
}
