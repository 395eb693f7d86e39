import { listOf, objectOf, textOf } from '../json';
import type { ClaudeModel } from './claude-models';
import { claudeRefusal } from './claude-refusal';
import type { Refusal, VendorRule } from './rule';
import { schemasIn } from './schema-walk';

const SOURCE = 'https://platform.claude.com/docs/en/build-with-claude/structured-outputs';
const unsupportedKeywords = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
];

/** Vendor's error for an output schema it cannot enforce. */
function complaintAbout(schema: unknown, path: string): Refusal | undefined {
  for (const { schema: node } of schemasIn(schema)) {
    const type = textOf(node['type']);
    const keywords = unsupportedKeywords.filter((name) => name in node);
    if (Number(node['minItems']) > 1) keywords.push('minItems');
    if (keywords.length > 0) {
      const reason =
        keywords.length === 1
          ? `property '${keywords[0]}' is not supported`
          : `properties ${keywords.join(', ')} are not supported`;
      return claudeRefusal(`${path}: For '${type}' type, ${reason}`);
    }
    if (type === 'object' && node['additionalProperties'] !== false) {
      return claudeRefusal(
        `${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`,
      );
    }
    if ('oneOf' in node) return claudeRefusal(`${path}: Schema type 'oneOf' is not supported`);
  }
  return undefined;
}

export const claudeSchemaRules: readonly VendorRule<ClaudeModel>[] = [
  {
    name: 'a schema of the answer with bounds or open objects',
    source: `${SOURCE}; words: https://github.com/sherifkozman/the-llm-council/pull/55`,
    refuses: ({ body }) => {
      const format = objectOf(objectOf(body['output_config'])['format'] ?? body['output_format']);
      return format['type'] === 'json_schema'
        ? complaintAbout(format['schema'], 'output_config.format.schema')
        : undefined;
    },
  },
  {
    name: 'a strict tool with bounds or open objects',
    source: `${SOURCE}; words as for the schema of an answer`,
    refuses: ({ body }) => {
      for (const [index, tool] of listOf(body['tools']).map(objectOf).entries()) {
        const found =
          tool['strict'] === true
            ? complaintAbout(tool['input_schema'], `tools.${index}.custom.input_schema`)
            : undefined;
        if (found) return found;
      }
      return undefined;
    },
  },
];
