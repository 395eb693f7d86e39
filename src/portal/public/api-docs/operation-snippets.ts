import type { SnippetTabsModel } from '../../../views';

export interface SnippetInput {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly baseUrl: string;
  /** Environment variable with the key; null if none is needed. */
  readonly key: string | null;
  readonly body: unknown;
  readonly form: boolean;
}

const placeholders: Readonly<Record<string, string>> = {
  key_id: 'KEY_ID',
  request_id: 'REQUEST_ID',
  response_id: 'RESPONSE_ID',
  model: 'MODEL_ID',
  code: 'budget_exceeded',
};

/** Shows one request in three languages, using only their standard HTTP clients. */
export function operationSnippets(input: SnippetInput): SnippetTabsModel {
  const path = input.path.replace(/\{(\w+)\}/g, (_match, name: string) => placeholders[name] ?? name);
  const url = input.baseUrl + path;
  return {
    id: `try-${input.id}`,
    label: input.id,
    snippets: [
      { id: 'curl', label: 'curl', code: curl(input, url) },
      { id: 'python', label: 'Python', code: python(input, url) },
      { id: 'typescript', label: 'TypeScript', code: typescript(input, url) },
    ],
  };
}

const hasBody = ({ body, form }: SnippetInput): boolean => !form && body !== undefined;

function curl(input: SnippetInput, url: string): string {
  const { method, key, body, form } = input;
  const verb =
    method === 'GET' || (method === 'POST' && (form || hasBody(input)))
      ? ''
      : method === 'HEAD'
        ? ' -I'
        : ` -X ${method}`;
  return [
    `curl${verb} ${url}`,
    ...(key === null ? [] : [`  -H "Authorization: Bearer $${key}"`]),
    ...(form ? ['  -F file=@recording.mp3 -F model=MODEL'] : []),
    ...(hasBody(input) ? ['  -H "Content-Type: application/json"', `  -d '${JSON.stringify(body)}'`] : []),
  ].join(' \\\n');
}

function python(input: SnippetInput, url: string): string {
  const { method, key, body, form } = input;
  const args = [
    `"${url}"`,
    ...(key === null ? [] : [`headers={"Authorization": f"Bearer {os.environ['${key}']}"}`]),
    ...(form ? ['files={"file": open("recording.mp3", "rb")}', 'data={"model": "MODEL"}'] : []),
    ...(hasBody(input) ? [`json=${pythonValue(body)}`] : []),
  ];
  const imports = key === null ? 'import requests' : 'import os\nimport requests';
  return `${imports}\n\nanswer = requests.${method.toLowerCase()}(\n    ${args.join(',\n    ')},\n)\nprint(answer.status_code, answer.text)`;
}

const pythonValue = (value: unknown): string =>
  JSON.stringify(value, null, 1)
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/([[{]) | ([\]}])/g, '$1$2')
    .replaceAll(/: true\b/g, ': True')
    .replaceAll(/: false\b/g, ': False');

function typescript(input: SnippetInput, url: string): string {
  const { method, key, body, form } = input;
  const headers = [
    ...(key === null ? [] : [`Authorization: \`Bearer \${process.env.${key}}\``]),
    ...(hasBody(input) ? [`'Content-Type': 'application/json'`] : []),
  ];
  const init = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(form ? ['body: form'] : []),
    ...(hasBody(input) ? [`body: JSON.stringify(${JSON.stringify(body)})`] : []),
  ];
  const options = init.length === 0 ? '' : `, {\n  ${init.join(',\n  ')},\n}`;
  const setup = form
    ? `import { openAsBlob } from 'node:fs';\n\nconst form = new FormData();\nform.set('file', await openAsBlob('recording.mp3'), 'recording.mp3');\nform.set('model', 'MODEL');\n`
    : '';
  return `${setup}const answer = await fetch('${url}'${options});\nconsole.log(answer.status, await answer.text());`;
}
