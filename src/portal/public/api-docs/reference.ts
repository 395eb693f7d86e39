import type { ModelKind } from '../../../catalogue';
import { kindAsked } from '../../../gateway';
import type { Schema } from '../../../kernel';
import type { Media, OpenApiDocument, OpenApiOperation } from '../../../web';
import type { PublicModel } from '../public-models';
import { operationSnippets } from './operation-snippets';

interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly notes: string;
}

/** The operations of a document as a page shows them: by subject, with fields and requests that can be copied. */
export function referenceOf(document: OpenApiDocument, models: readonly PublicModel[], baseUrl: string) {
  const operations = operationsOf(document);
  return document.tags.map(({ name }) => ({
    id: slug(name),
    name,
    operations: operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => {
        const [type = '', media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
        const form = type.startsWith('multipart');
        const body = withModel(media?.example, modelOf(kindAsked({ method, path }), models));
        return {
          id: kebab(operation.operationId),
          method,
          path,
          summary: operation.summary,
          description: operation.description,
          key: keyOf(operation),
          parameters: (operation.parameters ?? []).map(
            ({ name: parameter, in: place, required = false, schema, description = '' }): FieldRow => ({
              name: parameter,
              type: `${typeOf(schema)} (${place})`,
              required,
              notes: [description, boundsOf(schema)].filter(Boolean).join(' '),
            }),
          ),
          fields: fieldsOf(media, document),
          answers: answersOf(operation, document),
          snippets: operationSnippets({
            id: kebab(operation.operationId),
            method,
            path,
            baseUrl,
            key: keyOf(operation),
            body,
            form,
          }),
        };
      }),
  }));
}

/** The operations of a document, one row each. */
export const rowsOf = (document: OpenApiDocument) =>
  operationsOf(document).map(({ method, path, operation }) => ({
    method,
    path,
    tag: operation.tags[0],
    isOpen: operation.security.length === 0,
    inputs: [
      ...(operation.parameters ?? []).map(({ name }) => name),
      ...Object.keys(Object.values(operation.requestBody?.content ?? {})[0]?.schema?.properties ?? {}),
    ].join(', '),
    answer: Object.keys(operation.responses['200']?.content ?? { redirect: 0 }).join(', '),
  }));

interface Located {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

const operationsOf = ({ paths }: OpenApiDocument): Located[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function keyOf({ security }: OpenApiOperation): string | null {
  const [first] = security;
  if (first === undefined) return null;
  return 'rootKey' in first ? 'ROOT_KEY' : 'SVC_API_KEY';
}

function fieldsOf(media: Media | undefined, document: OpenApiDocument): FieldRow[] {
  const schema = resolved(media?.schema ?? {}, document);
  return Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    type: typeOf(field),
    required: schema.required?.includes(name) ?? false,
    notes: [field.description ?? '', boundsOf(field)].filter(Boolean).join(' '),
  }));
}

/** The response: the media types, and the fields of a JSON object. */
function answersOf(operation: OpenApiOperation, document: OpenApiDocument) {
  return Object.entries(operation.responses['200']?.content ?? {}).map(([type, media]) => ({
    type,
    fields: fieldsOf(media, document)
      .map(({ name }) => name)
      .join(', '),
  }));
}

function resolved(schema: Schema, document: OpenApiDocument): Schema {
  const name = schema.$ref?.split('/').at(-1);
  const schemas = document.components.schemas as Readonly<Record<string, Schema>> | undefined;
  return name === undefined ? schema : (schemas?.[name] ?? {});
}

function typeOf({ type, items, enum: choices, const: only, anyOf }: Schema): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  const own = [type ?? 'any'].flat().join(' | ');
  return items === undefined ? own : `${own} of ${typeOf(items)}`;
}

function boundsOf({ minimum, maximum, maxLength, maxItems, default: usual }: Schema): string {
  const number = (value: number): string => value.toLocaleString('en');
  return [
    ...(minimum !== undefined && maximum !== undefined ? [`${number(minimum)} to ${number(maximum)}.`] : []),
    ...(maxLength === undefined ? [] : [`At most ${number(maxLength)} characters.`]),
    ...(maxItems === undefined ? [] : [`At most ${number(maxItems)}.`]),
    ...(usual === undefined ? [] : [`Usually ${JSON.stringify(usual)}.`]),
  ].join(' ');
}

const modelOf = (kind: ModelKind, models: readonly PublicModel[]): string =>
  models.find((model) => model.kind === kind && model.state === 'active')?.id ?? 'MODEL_ID';

/** An example asks for a model that this deployment has. */
const withModel = (example: unknown, model: string): unknown =>
  typeof example === 'object' && example !== null && 'model' in example ? { ...example, model } : example;
