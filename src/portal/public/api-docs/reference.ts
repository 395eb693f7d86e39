import type { ModelKind } from '../../../catalogue';
import { requestedModelKind } from '../../../gateway';
import type { JsonSchema } from '../../../kernel';
import type { Media, OpenApiDocument, OpenApiOperation } from '../../../web';
import type { PublicModel } from '../public-models';
import { operationSnippets } from './operation-snippets';

interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly notes: string;
}

export function apiReference(document: OpenApiDocument, models: readonly PublicModel[], baseUrl: string) {
  const operations = operationsOf(document);
  return document.tags.map(({ name }) => ({
    id: slug(name),
    name,
    operations: operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ method, path, operation }) => {
        const [type = '', media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
        const form = type.startsWith('multipart');
        const body = withModel(media?.example, exampleModelOf(requestedModelKind({ method, path }), models));
        return {
          id: kebab(operation.operationId),
          method,
          path,
          summary: operation.summary,
          description: operation.description,
          key: keyVariableOf(operation),
          parameters: (operation.parameters ?? []).map(
            ({ name: parameter, in: location, required = false, schema, description = '' }): FieldRow => ({
              name: parameter,
              type: `${typeOf(schema)} (${location})`,
              required,
              notes: [description, limitsText(schema)].filter(Boolean).join(' '),
            }),
          ),
          fields: fieldsOf(media, document),
          answers: responsesOf(operation, document),
          snippets: operationSnippets({
            id: kebab(operation.operationId),
            method,
            path,
            baseUrl,
            key: keyVariableOf(operation),
            body,
            form,
          }),
        };
      }),
  }));
}

export const operationRows = (document: OpenApiDocument) =>
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

interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

const operationsOf = ({ paths }: OpenApiDocument): DocumentedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function keyVariableOf({ security }: OpenApiOperation): string | null {
  const [first] = security;
  if (first === undefined) return null;
  return 'rootKey' in first ? 'ROOT_KEY' : 'SVC_API_KEY';
}

function fieldsOf(media: Media | undefined, document: OpenApiDocument): FieldRow[] {
  const schema = resolveSchema(media?.schema ?? {}, document);
  return Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    type: typeOf(field),
    required: schema.required?.includes(name) ?? false,
    notes: [field.description ?? '', limitsText(field)].filter(Boolean).join(' '),
  }));
}

function responsesOf(operation: OpenApiOperation, document: OpenApiDocument) {
  return Object.entries(operation.responses['200']?.content ?? {}).map(([type, media]) => ({
    type,
    fields: fieldsOf(media, document)
      .map(({ name }) => name)
      .join(', '),
  }));
}

function resolveSchema(schema: JsonSchema, document: OpenApiDocument): JsonSchema {
  const name = schema.$ref?.split('/').at(-1);
  const schemas = document.components.schemas as Readonly<Record<string, JsonSchema>> | undefined;
  return name === undefined ? schema : (schemas?.[name] ?? {});
}

function typeOf({ type, items, enum: choices, const: only, anyOf }: JsonSchema): string {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  const typeName = [type ?? 'any'].flat().join(' | ');
  return items === undefined ? typeName : `${typeName} of ${typeOf(items)}`;
}

function limitsText({ minimum, maximum, maxLength, maxItems, default: defaultValue }: JsonSchema): string {
  const number = (value: number): string => value.toLocaleString('en');
  return [
    ...(minimum !== undefined && maximum !== undefined ? [`${number(minimum)} to ${number(maximum)}.`] : []),
    ...(maxLength === undefined ? [] : [`At most ${number(maxLength)} characters.`]),
    ...(maxItems === undefined ? [] : [`At most ${number(maxItems)}.`]),
    ...(defaultValue === undefined ? [] : [`Usually ${JSON.stringify(defaultValue)}.`]),
  ].join(' ');
}

const exampleModelOf = (kind: ModelKind, models: readonly PublicModel[]): string =>
  models.find((model) => model.kind === kind && model.state === 'active')?.id ?? 'MODEL_ID';

/** Replaces the model of an example by one of this deployment. */
const withModel = (example: unknown, model: string): unknown =>
  typeof example === 'object' && example !== null && 'model' in example ? { ...example, model } : example;
