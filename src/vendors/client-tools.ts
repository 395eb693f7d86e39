/**
 * A tool that a vendor defines and the caller runs, known to the vendor's models by type alone. Other models are
 * offered a function with the same arguments.
 */
export interface ClientTool {
  readonly dialect: 'messages' | 'responses';
  readonly type: RegExp;
  /** Name used if callers do not set one themselves. */
  readonly name?: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  /** For a call that is a separate item: its type, the type of its result, and the field with the arguments. */
  readonly item?: { readonly call: string; readonly output: string; readonly holds: 'action' | 'operation' };
  readonly source: string;
  readonly date: string;
}

const text = { type: 'string' };
const lines = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };
const texts = { type: 'array', items: text };
const integer = { type: 'integer' };

const object = (properties: Record<string, unknown>, ...required: string[]): ClientTool['schema'] => ({
  type: 'object',
  properties,
  required,
});

const editing = {
  path: text,
  file_text: text,
  old_str: text,
  new_str: text,
  view_range: lines,
  insert_line: integer,
};

export const clientTools: readonly ClientTool[] = [
  {
    dialect: 'messages',
    type: /^bash_\d{8}$/,
    description: 'Runs a command in a persistent shell session; `restart` begins a new session.',
    schema: object({ command: text, restart: { type: 'boolean' } }),
    source: 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/bash-tool',
    date: '2026-11-26',
  },
  {
    dialect: 'messages',
    type: /^text_editor_2024\d{4}$|^text_editor_20250[1-4]\d{2}$/,
    description:
      'Views, creates and edits text files. `insert` puts `new_str` behind the line `insert_line`.',
    schema: object(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'undo_edit'] },
        ...editing,
      },
      'command',
      'path',
    ),
    source: 'https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/text-editor-tool',
    date: '2026-11-26',
  },
  {
    dialect: 'messages',
    type: /^text_editor_\d{8}$/,
    description:
      'Views, creates and edits text files. `insert` puts `insert_text` behind the line `insert_line`.',
    schema: object(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
        ...editing,
        insert_text: text,
      },
      'command',
      'path',
    ),
    source: 'https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/text-editor-tool',
    date: '2026-11-26',
  },
  {
    dialect: 'messages',
    type: /^memory_\d{8}$/,
    description: 'Reads and writes files below /memories, which last beyond this conversation.',
    schema: object(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
        ...editing,
        insert_text: text,
        old_path: text,
        new_path: text,
      },
      'command',
    ),
    source: '@ai-sdk/anthropic 3.0.58, src/tool/memory_20250818.ts',
    date: '2026-11-26',
  },
  {
    dialect: 'responses',
    type: /^local_shell$/,
    name: 'local_shell',
    description: 'Runs one command on the local machine. `command` is the list of its arguments.',
    schema: object(
      { command: texts, working_directory: text, timeout_ms: integer, env: { type: 'object' }, user: text },
      'command',
    ),
    item: { call: 'local_shell_call', output: 'local_shell_call_output', holds: 'action' },
    source: '@langchain/openai 1.2.2, tools/localShell',
    date: '2026-11-26',
  },
  {
    dialect: 'responses',
    type: /^shell$/,
    name: 'shell',
    description: 'Runs commands in a shell, in their order.',
    schema: object({ commands: texts, timeout_ms: integer, max_output_length: integer }, 'commands'),
    item: { call: 'shell_call', output: 'shell_call_output', holds: 'action' },
    source: '@langchain/openai 1.2.2, tools/shell',
    date: '2026-11-26',
  },
  {
    dialect: 'responses',
    type: /^apply_patch$/,
    name: 'apply_patch',
    description:
      'Creates, updates or deletes one file. `diff` is in the V4A format; `delete_file` takes none.',
    schema: object(
      {
        type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
        path: text,
        diff: text,
      },
      'type',
      'path',
    ),
    item: { call: 'apply_patch_call', output: 'apply_patch_call_output', holds: 'operation' },
    source: 'https://openai.github.io/openai-agents-js/openai/agents/type-aliases/applypatchcallitem-1',
    date: '2026-11-26',
  },
];
