import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { OpenApiDocument, OpenApiOperation, OpenApiResponse } from '../../src/web';

export interface DescribedCall {
  readonly method: string;
  /** Described path with parameters in braces. */
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** Sends calls to a service and compares each response with the service's description. */
export class RecordedCalls {
  readonly differences: string[] = [];
  readonly statuses: number[] = [];
  private readonly validators = new Map<object, ValidateFunction>();
  // The service's own formats, such as time-zone, are not JSON Schema rules.
  private readonly ajv = new Ajv2020({ strict: false, logger: false, unicodeRegExp: false });

  constructor(private readonly url: string) {
    addFormats(this.ajv);
  }

  async send(document: OpenApiDocument, call: DescribedCall): Promise<{ status: number; body: unknown }> {
    const { method, path, parameters = {}, query = '', headers, json } = call;
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${method} ${path} is not described`);
    const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? '1');
    const response = await fetch(this.url + address + query, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(method === 'GET' ? {} : { 'sec-fetch-site': 'same-origin' }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
    const body: unknown = type === 'application/json' ? JSON.parse(text) : text;
    const { status } = response;
    this.statuses.push(status);
    const newDifferences = [
      ...this.differencesOf(document, operation, { status, type, body, headers: response.headers }),
      ...(response.ok && json !== undefined ? this.differencesOfRequest(document, operation, json) : []),
    ];
    this.differences.push(
      ...newDifferences.map((text) => `${method} ${address}${query} ${status} ${type}: ${text}`),
    );
    return { status, body };
  }

  private differencesOf(
    document: OpenApiDocument,
    { responses }: OpenApiOperation,
    answer: { status: number; type: string; body: unknown; headers: Headers },
  ): string[] {
    const { status, type, body, headers } = answer;
    const declaredResponse = responses[status] ?? (status >= 400 ? responses['default'] : undefined);
    if (declaredResponse === undefined) return ['the status is not declared'];
    const { content, headers: named = {} } = resolve(document, declaredResponse);
    if (status >= 300 && status < 400)
      return 'Location' in named && headers.has('location') ? [] : ['Location is not declared or not sent'];
    if (content === undefined) return body === '' ? [] : ['no body is declared'];
    const mediaType = content[type];
    if (mediaType === undefined)
      return [`the media type is not declared, only ${Object.keys(content).join(', ')}`];
    return this.validationErrors(document, mediaType.schema ?? {}, body);
  }

  private differencesOfRequest(
    document: OpenApiDocument,
    { requestBody }: OpenApiOperation,
    json: unknown,
  ): string[] {
    const schema = requestBody?.content['application/json']?.schema;
    return schema === undefined
      ? []
      : this.validationErrors(document, schema, json).map(
          (text) => `accepted a request that is not described: ${text}`,
        );
  }

  private validationErrors({ components }: OpenApiDocument, schema: object, value: unknown): string[] {
    const validate = this.validators.get(schema) ?? this.ajv.compile({ ...schema, components });
    this.validators.set(schema, validate);
    return validate(value) ? [] : [this.ajv.errorsText(validate.errors)];
  }
}

function resolve(document: OpenApiDocument, response: OpenApiResponse): OpenApiResponse {
  const name = response.$ref?.split('/').at(-1);
  const responses = document.components['responses'] as Readonly<Record<string, OpenApiResponse>>;
  return name === undefined ? response : (responses[name] ?? {});
}
