/** A route of a vendor's API that the gateway does not serve. */
interface VendorRoute {
  readonly vendor: 'openai' | 'anthropic' | 'google';
  /** Set if the same path is served with another method; null if no method of the path is served. */
  readonly method: 'GET' | 'POST' | 'DELETE' | null;
  /** Matches complete segments of the path. */
  readonly path: RegExp;
  /** The day on which its vendor retired it; null while it is offered. */
  readonly ended: string | null;
  readonly source: string;
  readonly date: string;
}

const DATE = '2026-11-26';
const OPENAI = 'https://developers.openai.com/api/docs/api-reference';
const ENDED = 'https://developers.openai.com/api/docs/deprecations';
const ANTHROPIC = 'https://platform.claude.com/docs/en/api/overview';

const route = (
  vendor: VendorRoute['vendor'],
  path: RegExp,
  source: string,
  ended: string | null = null,
): VendorRoute => ({ vendor, method: null, path, ended, source, date: DATE });

const methodRoute = (
  vendor: VendorRoute['vendor'],
  method: NonNullable<VendorRoute['method']>,
  path: RegExp,
  source: string,
): VendorRoute => ({ ...route(vendor, path, source), method });

/** In the order of matching. */
export const vendorRoutes: readonly VendorRoute[] = [
  route('anthropic', /^\/v1\/messages\/batches(?:\/|$)/, ANTHROPIC),
  route('anthropic', /^\/v1\/(?:skills|organizations)(?:\/|$)/, ANTHROPIC),
  route('anthropic', /^\/v1\/complete$/, '@anthropic-ai/sdk 1.14.0, resources', DATE),
  route('openai', /^\/v1\/(?:files|uploads|batches|containers|conversations)(?:\/|$)/, OPENAI),
  route('openai', /^\/v1\/(?:fine_tuning|vector_stores|evals|organization|chatkit)(?:\/|$)/, OPENAI),
  route('openai', /^\/v1\/realtime(?:\/|$)/, OPENAI),
  route('openai', /^\/v1\/images\/edits$/, OPENAI),
  methodRoute('openai', 'POST', /^\/v1\/responses\/(?:compact|input_tokens)$/, OPENAI),
  methodRoute('openai', 'GET', /^\/v1\/chat\/completions$/, OPENAI),
  methodRoute('openai', 'DELETE', /^\/v1\/models\/[^/]+$/, OPENAI),
  route('openai', /^\/v1\/responses\/[^/]+\/cancel$/, OPENAI),
  route('openai', /^\/v1\/chat\/completions\/[^/]+(?:\/messages)?$/, OPENAI),
  route('openai', /^\/v1\/(?:assistants|threads)(?:\/|$)/, ENDED, '2026-08-26'),
  route('openai', /^\/v1\/videos(?:\/|$)/, 'openai 7.57.0, resources', DATE),
  route('openai', /^\/v1\/images\/variations$/, 'openai 7.57.0, resources', DATE),
  route(
    'openai',
    /^\/v1\/(?:edits|engines|fine-tunes|answers|classifications|search)(?:\/|$)/,
    ENDED,
    '2024-01-04',
  ),
  methodRoute('google', 'POST', /^\/v1\/models\/[^/]+:\w+$/, 'https://ai.google.dev/api'),
  route('google', /^\/v1(?:alpha|beta)\/models\//, 'https://ai.google.dev/api'),
];
