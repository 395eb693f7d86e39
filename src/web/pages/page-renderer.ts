import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { canonicalZone, type ErrorPageModel, type Fault, renderPageModel } from '../../kernel';
import { ResellerDomains } from '../../identity';
import { Settings } from '../../platform';
import {
  defaultViewContext,
  type FormsContext,
  isLocale,
  type Locale,
  locales,
  type Translate,
  type ViewContext,
  ViewEngine,
} from '../../views';
import { cookieOf, sessionCookieName } from '../cookies';
import { FormDeclarations } from './form-declarations';
import { PageFrames } from './page-frame';
import { type HttpRequest, pathOf, queryOf } from '../http-request';
import { addressText, codeText, reasonText, refusedForm } from './refusal';

export const languageCookie = 'svc_language';
const themeCookie = 'svc_theme';
const shortcutsCookie = 'svc_shortcuts';
const timeZoneCookie = 'svc_time_zone';

export interface PortalPlace {
  /** Callers reach `/v1` there. */
  readonly baseUrl: string;
  readonly portalUrl: string;
  readonly brandName: string;
}

/** Turns a view and its plain model into a page, for the person who asked for it. */
@Injectable()
export class PageRenderer {
  constructor(
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
    private readonly frames: PageFrames,
    private readonly resellers: ResellerDomains,
    private readonly declarations: FormDeclarations,
  ) {}

  page(view: string, model: object, request: HttpRequest): string {
    return this.engine.render(view, model, this.contextOf(request));
  }

  fault(
    problem: Fault,
    request: HttpRequest,
  ): { html: string; status: number; headers: ErrorPageModel['headers'] } {
    const model = renderPageModel(problem, request.requestId);
    const isMissing = problem.code === 'not_found';
    const isFramed = request.actor !== undefined && request.restingAs === undefined;
    const view = isFramed ? 'errors/framed' : isMissing ? 'errors/not-found' : 'errors/error';
    const texts = this.textsFor(request);
    const { message } = problem.options;
    // A fault's own words are English: other readers get them below the text of the code.
    const own = localeOf(request) === 'en' ? message : undefined;
    const ofAddress = request.method === 'GET' ? addressText(problem, texts) : null;
    const said = ofAddress ?? reasonText(problem, texts) ?? own;
    const humanMessage = said ?? codeText(problem, texts) ?? model.humanMessage;
    const inEnglish = said === undefined && message !== humanMessage ? message : undefined;
    const back = isFramed ? this.frames.backFrom(request, texts) : null;
    const values = { humanMessage, inEnglish, actionClass: problem.entry.actionClass, isMissing, back };
    return {
      html: this.page(view, { ...model, ...values }, request),
      status: model.status,
      headers: model.headers,
    };
  }

  /** A script of our pages shows this of a refusal, in the reader's language as far as there is a text. */
  refusalText(problem: Fault, request: HttpRequest): string {
    if (localeOf(request) === 'en') return problem.humanMessage;
    const texts = this.textsFor(request);
    return reasonText(problem, texts) ?? codeText(problem, texts) ?? problem.humanMessage;
  }

  localeOf(request: HttpRequest): Locale {
    return localeOf(request);
  }

  timeZoneOf(request: HttpRequest): string {
    return timeZoneOf(request.viewing?.timeZone ?? cookieOf(request.headers, timeZoneCookie));
  }

  /** The texts in the visitor's language; those of an extension come before the host's. */
  textsFor(request: HttpRequest, extension?: string): Translate {
    return this.engine.translator(localeOf(request), extension);
  }

  /** The address and the name under which this visitor sees the portal. */
  placeOf(request: HttpRequest): PortalPlace {
    const { baseUrl: portalUrl, brand } = this.hostOf(request);
    const { brandName, gatewayUrl } = this.settings;
    return { baseUrl: gatewayUrl ?? portalUrl, portalUrl, brandName: brand?.name ?? brandName };
  }

  /** Under a reseller's host, the name, the look and the addresses are the reseller's. */
  private hostOf({ reseller }: HttpRequest): Pick<ViewContext, 'baseUrl' | 'brand'> {
    if (reseller === undefined) return { baseUrl: this.settings.baseUrl };
    const { name, hasLogo, accents, version } = reseller;
    return {
      baseUrl: this.resellers.originOf(reseller),
      brand: {
        name,
        ...(hasLogo ? { logo: `/portal/logo?v=${version}` } : {}),
        ...(accents === null ? {} : { styleSheet: `/portal/look.css?v=${version}` }),
      },
    };
  }

  private contextOf(request: HttpRequest): ViewContext {
    const { headers } = request;
    return defaultViewContext({
      locale: localeOf(request),
      theme: themeOf(cookieOf(headers, themeCookie)),
      hasShortcuts: cookieOf(headers, shortcutsCookie) !== 'off',
      timeZone: this.timeZoneOf(request),
      path: pathOf(request),
      query: Object.fromEntries(queryOf(request)),
      requestId: request.requestId,
      hostMark: hostMarkOf(cookieOf(headers, sessionCookieName(this.settings)) ?? '', this.settings),
      hasSession: Boolean(cookieOf(headers, sessionCookieName(this.settings))),
      ...this.hostOf(request),
      fragment: headers['hx-request'] === 'true',
      ...this.frames.contextOf(request, this.textsFor(request)),
      forms: this.formsOf(request),
    });
  }

  private formsOf(request: HttpRequest): FormsContext {
    const { refusal, refusedAddress, originalUrl } = request;
    const texts = this.textsFor(request);
    const forms = { page: originalUrl, declaredAt: this.declarations.at };
    if (refusedAddress !== undefined) {
      const text = addressText(refusedAddress, texts, true) ?? '';
      return { ...forms, notice: { text, code: refusedAddress.code } };
    }
    return refusal === undefined ? forms : { ...forms, refused: refusedForm(refusal, texts) };
  }
}

/** The mark of another session is another one, so that nobody can write it into the page of somebody else. */
const hostMarkOf = (session: string, { sessionSecret }: Settings): string =>
  createHmac('sha256', sessionSecret).update(`host mark ${session}`).digest('base64url').slice(0, 22);

/** The locale is the signed-in person's, a visitor's choice, or the first of the browser's that there is. */
export function localeOf(request: HttpRequest): Locale {
  const own = request.viewing?.language;
  if (isLocale(own)) return own;
  const chosen = cookieOf(request.headers, languageCookie);
  if (isLocale(chosen)) return chosen;
  const wanted = (request.headers['accept-language'] ?? '')
    .split(',')
    .map((entry) => entry.trim().slice(0, 2));
  return wanted.find(isLocale) ?? locales[0];
}

const themeOf = (value: string | null): ViewContext['theme'] =>
  value === 'light' || value === 'dark' ? value : 'system';

// A slash is the one character of a zone's name that scripts escape in a cookie.
const timeZoneOf = (value: string | null): string =>
  canonicalZone(value?.replaceAll(/%2f/gi, '/') ?? 'UTC') ?? 'UTC';
