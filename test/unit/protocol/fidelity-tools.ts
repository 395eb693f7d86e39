import { chat, messages, type Probe, responses, responsesTool } from './fidelity-shapes';

/** Vendor tools: those that its servers run, and those that its models know by type only. */
export const toolProbes: readonly Probe[] = [
  {
    feature: "Supplier's own tool alone",
    fields: {
      messages: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      responses: { tools: [{ type: 'web_search' }] },
    },
  },
  {
    feature: 'Tool of a remote server',
    fields: responses({ tools: [responsesTool, { type: 'mcp', server_label: 'x' }] }),
  },
  { feature: 'File search', fields: responses({ tools: [responsesTool, { type: 'file_search' }] }) },
  {
    feature: 'Code interpreter',
    fields: responses({ tools: [responsesTool, { type: 'code_interpreter' }] }),
  },
  { feature: 'Search by the model', fields: chat({ web_search_options: {} }) },
  {
    feature: 'Shell that the caller runs',
    fields: {
      messages: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
      responses: { tools: [{ type: 'local_shell' }] },
    },
  },
  {
    feature: 'Editor that the caller runs',
    fields: {
      messages: { tools: [{ type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' }] },
      responses: { tools: [{ type: 'apply_patch' }] },
    },
  },
  {
    feature: 'Memory that the caller keeps',
    fields: messages({ tools: [{ type: 'memory_20250818', name: 'memory' }] }),
  },
  { feature: 'Most tool calls', fields: responses({ max_tool_calls: 3 }) },
];
