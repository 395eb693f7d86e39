import type { IncomingMessage } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { Reader } from '../../packages/extension/src/pages';
import type { BudgetShare } from './claude-code';
import type { FrameData } from './frame-data';
import type { Actor, Fault } from '../kernel';
import type { Refusal } from './pages/refusal';
import type { ResellerDomain, ViewerContext } from '../identity';
import type { Caller } from '../keys';

export interface HttpRequest extends IncomingMessage {
  requestId: string;
  /** The caller's own id, if it is not a UUID. */
  clientRequestId: string | null;
  originalUrl: string;
  params: Readonly<Record<string, string>>;
  caller?: Caller;
  actor?: Actor;
  /** Status of a suspended or archived account, on routes open to such accounts. */
  restingAs?: string;
  /** Host of the portal, if other than that of BASE_URL. */
  portalHost?: string;
  /** Set together with `portalHost` for a reseller's host. */
  reseller?: ResellerDomain;
  /** Language, time zone and administration view; set together with the actor. */
  viewing?: ViewerContext;
  /** Set together with the actor on routes of extensions. */
  reader?: Reader;
  frame?: FrameData;
  /** Set for changes in the portal; the gateway reads its own bodies. */
  body?: unknown;
  rawBody?: Buffer;
  /** Page that contains the form, if it belongs to the portal. */
  formPage?: string;
  /** Set if a page is shown again because its form was rejected. */
  refusal?: Refusal;
  /** Set if a page is shown without an invalid query parameter. */
  refusedAddress?: Fault;
  /** Requested model and last supplier of a failed inference request. */
  attempted?: { readonly model: string; readonly supplier: string | null };
  /** Set only for Claude Code, which displays it. */
  mostUsedBudget?: BudgetShare;
}

/** Portal host as stored in sessions; empty for BASE_URL. */
export const portalHostOf = ({ portalHost }: Pick<HttpRequest, 'portalHost'>): string => portalHost ?? '';

export const requestOf = (context: ExecutionContext): HttpRequest => context.getArgByIndex<HttpRequest>(0);

export function pathOf(request: IncomingMessage & { originalUrl?: string }): string {
  const url = request.originalUrl ?? request.url ?? '/';
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? url : url.slice(0, queryStart);
}

export function queryOf(request: IncomingMessage & { originalUrl?: string }): URLSearchParams {
  const url = request.originalUrl ?? request.url ?? '/';
  const queryStart = url.indexOf('?');
  return new URLSearchParams(queryStart === -1 ? '' : url.slice(queryStart + 1));
}

/** Browsers accept HTML; API clients do not ask for it. */
export function wantsPage({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.accept?.includes('text/html') ?? false;
}
