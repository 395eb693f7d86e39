import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { fault, type InputFields, readJsonObject } from '../kernel';
import { readBody, Settings } from '../platform';
import { type HttpRequest, requestOf } from './http-request';
import { takeFormPage } from './pages/refusal';
import { unreadable } from './unreadable';
import { readUpload } from './upload';

export const bodyLimitMetadata = 'switchboard:body-limit';
export const filesMetadata = 'switchboard:takes-files';
export const bodyMetadata = 'switchboard:body-form';
export const pageFormMetadata = 'switchboard:page-form';

/** A class with validation rules, or fields by name. */
export type BodyForm = Type | InputFields;

/** Reads the bodies of changes. The raw bytes stay next to the parsed form, because webhook signatures cover them. */
@Injectable()
export class PortalBody {
  constructor(
    private readonly settings: Settings,
    private readonly reflector: Reflector,
  ) {}

  /** Does nothing if a guard has read the body already. */
  async read(context: ExecutionContext): Promise<void> {
    const request = requestOf(context);
    if (request.body !== undefined) return;
    if (hasBody(request)) {
      const ownLimit = this.reflector.get<number | undefined>(bodyLimitMetadata, context.getHandler());
      request.rawBody = await readBody(request, ownLimit ?? this.settings.portalBodyLimitBytes);
      const takesFiles = this.reflector.get<boolean | undefined>(filesMetadata, context.getHandler());
      const type = mediaTypeOf(request);
      request.body =
        takesFiles === true && type === 'multipart/form-data'
          ? await readUpload(request.rawBody, request.headers['content-type'] ?? '')
          : await parseBody(request.rawBody, type);
      request.formPage = takeFormPage(request.body);
    }
    request.body ??= {};
  }
}

/** Reads the body after the guards, so that rejected requests use no memory. */
@Injectable()
export class PortalBodyInterceptor implements NestInterceptor {
  constructor(private readonly body: PortalBody) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.body.read(context);
    return next.handle();
  }
}

const hasBody = ({ headers }: HttpRequest): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const mediaTypeOf = ({ headers }: HttpRequest): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

export function parseBody(bytes: Buffer, mediaType: string): unknown {
  switch (mediaType) {
    case 'application/json':
      return parseObject(bytes);
    case 'application/x-www-form-urlencoded':
      return parseForm(bytes);
    default:
      throw fault('unsupported_media_type');
  }
}

async function parseObject(bytes: Buffer): Promise<unknown> {
  return (await readJsonObject(bytes)).body;
}

const MAX_FIELDS = 1_000;

/** Repeated fields become a list; a null prototype protects against field names such as `__proto__`. */
function parseForm(bytes: Buffer): Record<string, string | string[]> {
  const text = bytes.toString('utf8');
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS) {
    throw unreadable(`A form has at most ${MAX_FIELDS} fields.`);
  }
  const form = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = form[name];
    form[name] =
      earlier === undefined ? value : Array.isArray(earlier) ? [...earlier, value] : [earlier, value];
  }
  return form;
}
