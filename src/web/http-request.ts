import type { IncomingMessage } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { Reader } from '../../packages/extension/src/pages';
import type { BudgetShare } from './claude-code';
import type { FrameFacts } from './frame-facts';
import type { Actor, Fault } from '../kernel';
import type { Refusal } from './pages/refusal';
import type { ResellerDomain, Viewing } from '../identity';
import type { Caller } from '../keys';

/** A request as guards leave it: identified, and with the caller or person it belongs to. */
export interface HttpRequest extends IncomingMessage {
  requestId: string;
  /** The caller's own id, where it is no UUID and so not ours. */
  clientRequestId: string | null;
  originalUrl: string;
  params: Readonly<Record<string, string>>;
  /** The key guards set it. */
  caller?: Caller;
  /** The session guard sets it. */
  actor?: Actor;
  /** It is set with the actor of an account that is suspended or archived, on the routes that are left to it. */
  restingAs?: string;
  /** It is set where the page is asked for under another portal than BASE_URL's: its host. */
  portalHost?: string;
  /** It is set with it where that is a reseller's. */
  reseller?: ResellerDomain;
  /** It is set with the actor: language, zone and view of the administration. */
  viewing?: Viewing;
  /** It is set with the actor on routes of extensions. */
  reader?: Reader;
  /** What the frame of a page shows beside its own content; set before the page is made. */
  frame?: FrameFacts;
  /** It is set where a change in the portal is read; the gateway reads its own. */
  body?: unknown;
  rawBody?: Buffer;
  /** The page that the form stands on, where it is one of ours. */
  formPage?: string;
  /** It is set where a page is shown again because a form of it was refused. */
  refusal?: Refusal;
  /** It is set where the answer is a page, before its parameters are read. */
  isPage?: boolean;
  /** It is set where a page is shown again without a parameter of its address that was refused. */
  refusedAddress?: Fault;
  /** It is set where an inference request failed: what was asked, and the supplier that was asked last. */
  attempted?: { readonly model: string; readonly supplier: string | null };
  /** Set for Claude Code, which shows it. */
  mostUsedBudget?: BudgetShare;
}

/** It is the portal that is asked, as sessions store it: empty for BASE_URL's. */
export const portalHostOf = ({ portalHost }: Pick<HttpRequest, 'portalHost'>): string => portalHost ?? '';

export const requestOf = (context: ExecutionContext): HttpRequest => context.getArgByIndex<HttpRequest>(0);

export function pathOf(request: IncomingMessage & { originalUrl?: string }): string {
  const url = request.originalUrl ?? request.url ?? '/';
  const question = url.indexOf('?');
  return question === -1 ? url : url.slice(0, question);
}

export function queryOf(request: IncomingMessage & { originalUrl?: string }): URLSearchParams {
  const url = request.originalUrl ?? request.url ?? '/';
  const question = url.indexOf('?');
  return new URLSearchParams(question === -1 ? '' : url.slice(question + 1));
}

/** Browsers name HTML first when a person is looking; programs do not ask for it. */
export function wantsPage({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.accept?.includes('text/html') ?? false;
}
