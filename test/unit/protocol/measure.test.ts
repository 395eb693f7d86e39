import { dialects } from '../../../src/protocol';
import { pictureSizeIn } from '../../../src/protocol/measure/picture-size';
import { gifOf, jpegOf, pngOf, webpOf } from '../../support/pictures';

const { chat, messages, responses } = dialects;
const png = pngOf({ width: 1_920, height: 1_080 }).toString('base64');
const dataUrl = `data:image/png;base64,${png}`;
const binding = { width: 1_920, height: 1_080, isBinding: true };

describe('Non-text parts of a request', () => {
  test('are found everywhere in a Chat Completions request', () => {
    const measured = chat.measureRequest({
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'x' }] },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: dataUrl, detail: 'low' } },
            { type: 'image_url', image_url: 'https://pictures.example/a.png' },
            { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } },
            { type: 'file', file: { file_id: 'file-1' } },
            { type: 'video_url', video_url: { url: 'https://films.example/a.mp4' } },
          ],
        },
        { role: 'tool', content: [{ type: 'image_url', image_url: { url: 'https://pictures.example/b' } }] },
        { role: 'assistant', audio: { id: 'audio_1' } },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }, { type: 'browser_search' }],
      web_search_options: {},
    });
    expect(measured).toMatchObject({
      mediaBytes: dataUrl.length + 8 + 'data:application/pdf;base64,JVBERi0='.length,
      recordings: ['UklGRg=='],
      references: 2,
      tools: 2,
      serverTools: [{ type: 'browser_search' }, { type: 'web_search_options' }],
    });
    expect(measured.pictures).toHaveLength(3);
    expect(measured.pictures).toContainEqual({ detail: 'low', size: binding });
    expect(measured.documents).toHaveLength(2);
  });

  test('are found everywhere in a Messages request', () => {
    const measured = messages.measureRequest({
      system: [{ type: 'text', text: 'x' }],
      messages: [
        { role: 'user', content: 'plain' },
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            { type: 'image', source: { type: 'file', file_id: 'file_1' } },
            {
              type: 'tool_result',
              content: [
                { type: 'image', source: { type: 'url', url: 'https://pictures.example/a' } },
                { type: 'document', source: { type: 'base64', data: 'JVBERi0=' } },
              ],
            },
            { type: 'document', source: { type: 'text', data: 'words' } },
            {
              type: 'document',
              source: { type: 'content', content: [{ type: 'image', source: { type: 'url' } }] },
            },
            { type: 'document', source: { type: 'url', url: 'https://papers.example/a.pdf' } },
            { type: 'container_upload', file_id: 'file_2' },
            {
              type: 'web_fetch_tool_result',
              content: {
                type: 'web_fetch_result',
                content: { type: 'document', source: { type: 'base64', data: 'JVBERi0=' } },
              },
            },
          ],
        },
      ],
      container: 'container_1',
      tools: [
        { name: 'f', input_schema: {} },
        { type: 'bash_20250124', name: 'bash' },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
        { type: 'code_execution_20250825', name: 'code_execution' },
      ],
      mcp_servers: [{ type: 'url', url: 'https://tools.example' }],
    });
    expect(measured).toMatchObject({ mediaBytes: png.length + 16, references: 2, tools: 4, vendorTools: 3 });
    expect(measured.pictures).toHaveLength(4);
    expect(measured.documents).toHaveLength(3);
    expect(measured.serverTools).toEqual([
      { type: 'web_search_20250305', index: 2, maxUses: 3, takesLimit: true },
      { type: 'code_execution_20250825', index: 3, maxUses: null, takesLimit: false },
      { type: 'mcp', index: null, maxUses: null, takesLimit: false },
    ]);
  });

  test('are found everywhere in a Responses request', () => {
    const measured = responses.measureRequest({
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: dataUrl, detail: 'high' }] },
        { type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] },
        { type: 'function_call_output', output: [{ type: 'input_image', image_url: 'https://p.example/a' }] },
        { type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: dataUrl } },
        { type: 'image_generation_call', result: png },
        { role: 'user', content: [{ type: 'input_file', file_url: 'https://papers.example/a.pdf' }] },
        { type: 'item_reference', id: 'msg_1' },
        { type: 'reasoning', encrypted_content: 'abc', summary: [] },
      ],
      previous_response_id: 'resp_1',
      conversation: 'conv_1',
      prompt: { id: 'pmpt_1' },
      tools: [
        { type: 'function', name: 'f' },
        { type: 'local_shell' },
        { type: 'file_search', vector_store_ids: ['vs_1'] },
      ],
      max_tool_calls: 2,
    });
    expect(measured).toMatchObject({
      mediaBytes: 2 * dataUrl.length + png.length,
      references: 4,
      serverTools: [{ type: 'file_search' }],
      maxToolCalls: 2,
      vendorTools: 2,
    });
    expect(measured.pictures).toHaveLength(5);
    expect(measured.pictures).toContainEqual({ detail: 'high', size: binding });
    expect(measured.documents).toHaveLength(1);
  });

  test('are absent in plain text and in invalid requests', () => {
    const emptyMeasure = { mediaBytes: 0, pictures: [], documents: [], references: 0, serverTools: [] };
    expect(chat.measureRequest({ messages: [{ role: 'user', content: dataUrl }] })).toMatchObject(
      emptyMeasure,
    );
    for (const body of [{}, { messages: 3, input: 'x' }, { messages: [null, 'x', []], input: [[], 3] }])
      for (const dialect of Object.values(dialects))
        expect(dialect.measureRequest(body)).toMatchObject(emptyMeasure);
  });

  test('are found at any depth', () => {
    let block: object = { type: 'image', source: { type: 'url' } };
    for (let depth = 0; depth < 50_000; depth += 1) block = { type: 'tool_result', content: [block] };
    const measured = messages.measureRequest({ messages: [{ role: 'user', content: [block] }] });
    expect(measured.pictures).toHaveLength(1);
  });
});

describe('Image size', () => {
  const sizeOf = (file: Buffer) => pictureSizeIn(file.toString('base64'), 0);
  const size = { width: 640, height: 480 };

  test('is read from the header', () => {
    expect(sizeOf(pngOf(size))).toEqual({ ...size, isBinding: true });
    expect(sizeOf(jpegOf(size))).toEqual({ ...size, isBinding: true });
    expect(sizeOf(jpegOf({ ...size, profileBytes: 60_000 }))).toEqual({ ...size, isBinding: true });
    for (const kind of ['VP8 ', 'VP8L', 'VP8X'] as const)
      expect(sizeOf(webpOf({ ...size, kind }))).toEqual({ ...size, isBinding: true });
  });

  test('size of a GIF is not binding for decoders', () => {
    expect(sizeOf(gifOf(size))).toEqual({ ...size, isBinding: false });
  });

  test('size of a JPEG with several frame headers is the largest', () => {
    const file = jpegOf({ ...size, smallerFirst: true });
    expect(sizeOf(file)).toEqual({ ...size, isBinding: true });
    // The marker of an embedded thumbnail is ignored.
    expect(sizeOf(jpegOf({ ...size, profileBytes: 3_000, thumbnail: true }))).toMatchObject(size);
  });

  test('is unknown if another decoder might see different bytes', () => {
    const cleanImage = pngOf(size).toString('base64');
    expect(pictureSizeIn(`${cleanImage.slice(0, 8)}\n${cleanImage.slice(8)}`, 0)).toBeNull();
    expect(sizeOf(jpegOf({ ...size, profileBytes: 200_000 }))).toBeNull();
    expect(sizeOf(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'))).toBeNull();
    expect(sizeOf(Buffer.alloc(0))).toBeNull();
    expect(sizeOf(pngOf({ width: 0, height: 9 }))).toBeNull();
  });
});
