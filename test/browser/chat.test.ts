import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app';
import { addUser, signIn } from '../support/users';
import { type Simulator, startSimulator } from '../support/simulator';
import { checkPageInAllViewings, describeWithBrowser, setCookie, launchBrowser, withPage } from './browser';
import { noIssues } from '../support/browser/page-gate';
import { until } from '../support/until';

const onePixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const desktopViewing = { theme: 'light', width: 1280 } as const;

/** Model output that would harm a page that trusts it. */
const hostileText = [
  'Look:',
  '<script>window.harmed = 1</script>',
  '<img src=x onerror="window.harmed = 2">',
  '[a link](javascript:window.harmed=3)',
  '[another](https://evil.example/steal?q=1)',
  '![a picture](https://evil.example/pixel.png)',
  '<form action=https://evil.example><input name=password></form>',
  '<style>body { display: none }</style>',
  '`const safe = "<b>";`',
].join(' ');

/** Returns a script that drops a file next to the message. */
const dropFileScript = (name: string, text: string): string => `(() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
  document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
})()`;

describeWithBrowser('Chat in a browser', () => {
  let browser: Browser;
  let app: TestApp;
  let supplier: Simulator;
  let cookie: string;

  beforeAll(async () => {
    supplier = await startSimulator();
    [browser, app] = await Promise.all([
      launchBrowser(),
      startTestApp({
        sandboxUrl: supplier.url,
        environment: { NODE_ENV: 'development', LOG_LEVEL: 'error' },
      }),
    ]);
    cookie = await signIn(app, await addUser(app));
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await supplier?.stop();
  });

  const setSession = (context: BrowserContext): Promise<void> => setCookie(context, app.url, cookie);
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  const startConversation = async (): Promise<string> => {
    const { id } = await post('/api/conversations', { model: 'sim-small' });
    return `/dashboard/webchat/${String(id)}`;
  };
  const sendMessage = async (thread: string, content: string): Promise<void> => {
    await post(`/api/chat/${thread.split('/').at(-1) ?? ''}`, { content });
  };
  const openThread = (thread: string, look: (page: Page, context: BrowserContext) => Promise<void>) =>
    withPage(browser, desktopViewing, async (page, context) => {
      await setSession(context);
      await page.goto(app.url + thread, { waitUntil: 'load' });
      await look(page, context);
    });

  test('chat pages are accessible, comply with the CSP and fit the screen', async () => {
    const thread = await startConversation();
    await sendMessage(
      thread,
      `Please answer with a long-word-${'x'.repeat(80)} [[echo=**Bold** \`code\` and a list]]`,
    );
    for (const path of ['/dashboard/webchat', thread])
      expect(await checkPageInAllViewings(browser, app.url + path, cookie)).toEqual(noIssues);
  });

  test('first message starts its conversation and is answered on its page', async () => {
    await openThread('/dashboard/webchat', async (page) => {
      expect(await page.evaluate('document.activeElement.id')).toBe('chat-message');
      await page.keyboard.type('Hello [[echo=**at** once]]');
      await page.keyboard.press('Control+Enter');
      await page.waitForURL(/\/dashboard\/webchat\/\d+$/);
      await page.waitForSelector('.message-assistant .message-foot > span:not(.route)');
      expect(await page.locator('#chat-log .message-assistant strong').innerText()).toBe('at');
      await page.reload();
      expect(await page.locator('#chat-log .message-user').count()).toBe(1);
    });
  });

  test('images are sent with the first message to a model that accepts them', async () => {
    await openThread('/dashboard/webchat', async (page) => {
      await page.selectOption('#chat-model', 'sim-reason');
      const picture = { name: 'pier.png', mimeType: 'image/png', buffer: onePixelPng };
      await page.setInputFiles('#chat-file', picture);
      await page.locator('#chat-file-note', { hasText: 'pier.png was not added' }).waitFor();
      expect(await page.isVisible('#chat-chips')).toBe(false);
      await page.selectOption('#chat-model', 'sim-small');
      await page.setInputFiles('#chat-file', picture);
      await page.locator('#chat-chips li', { hasText: 'pier.png' }).waitFor();
      await page.click('#chat-start .button-primary');
      await page.waitForURL(/\/dashboard\/webchat\/\d+$/);
      await page.waitForSelector('.message-assistant .message-foot > span:not(.route)');
      expect(await page.locator('#chat-log .message-user').innerText()).toContain('pier.png');
      expect(JSON.stringify(await supplier.requests())).toContain(picture.buffer.toString('base64'));
      await page.reload();
      expect(await page.locator('#chat-log .message-user').count()).toBe(1);
    });
  });

  test('text file is sent with the message to any model, and an unreadable file leaves the form usable', async () => {
    const { id } = await post('/api/conversations', { model: 'sim-reason' });
    await openThread(`/dashboard/webchat/${String(id)}`, async (page) => {
      const textFile = { name: 'notes.md', mimeType: '', buffer: Buffer.from('Zürich ``` wins') };
      const binaryFile = { name: 'tool.bin', mimeType: 'text/plain', buffer: Buffer.from([0xff, 0, 1]) };
      await page.setInputFiles('#chat-file', [binaryFile, textFile]);
      await page.locator('#chat-chips li', { hasText: 'notes.md' }).waitFor();
      expect(await page.locator('#chat-file-note').innerText()).toContain('tool.bin was not added');
      await page.click('#chat-chips button[aria-label="Remove notes.md"]');
      expect(await page.isVisible('#chat-chips')).toBe(false);
      expect(await page.evaluate('document.activeElement.id')).toBe('chat-message');
      await page.evaluate(dropFileScript('notes.md', 'Zürich ``` wins'));
      await page.locator('#chat-chips li', { hasText: 'notes.md' }).waitFor();
      await page.fill('#chat-message', 'Read this [[echo=I read it]]');
      await page.click('#chat-send');
      await page.locator('#chat-log .message-assistant [data-said]', { hasText: 'I read it' }).waitFor();
      expect(JSON.stringify(await supplier.requests())).toContain(
        JSON.stringify('notes.md:\n````\nZürich ``` wins\n````').slice(1, -1),
      );
      await page.waitForSelector('#chat-send:not([hidden])');
      await page.reload();
      expect(await page.locator('#chat-log .message-user').innerText()).toContain('notes.md');
    });
  });

  test('file whose content differs from its name can be removed before the message is sent', async () => {
    await openThread(await startConversation(), async (page) => {
      const fakeImage = { name: 'fake.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
      await page.setInputFiles('#chat-file', fakeImage);
      await page.locator('#chat-chips li', { hasText: 'fake.png' }).waitFor();
      await page.fill('#chat-message', 'Look [[echo=at nothing]]');
      await page.click('#chat-send');
      await page.locator('#chat-log', { hasText: 'fake.png is damaged' }).waitFor();
      expect(await page.inputValue('#chat-message')).toBe('Look [[echo=at nothing]]');
      await page.click('#chat-chips button');
      await page.click('#chat-send');
      await page.locator('#chat-log .message-assistant [data-said]', { hasText: 'at nothing' }).waitFor();
    });
  });

  test('failed call is displayed as an alert with code, request and next step, also after a reload', async () => {
    await supplier.addFault({ times: 5, fault: { kind: 'status', status: 400 } });
    await openThread(await startConversation(), async (page) => {
      await page.fill('#chat-message', 'Hello');
      await page.click('#chat-send');
      const alert = page.locator('#chat-log').getByRole('alert');
      await alert.filter({ hasText: 'No answer.' }).waitFor();
      const alertText = await alert.innerText();
      expect(alertText).toMatch(/Code\s+[a-z_]+\s+Request\s+[0-9a-f-]{36}/);
      expect(alertText).toContain('Correct what the message names and try again.');
      expect(await page.locator('#chat-log .message-assistant').count()).toBe(0);
      const alertCodes = await alert.locator('code').allInnerTexts();
      expect(await page.isVisible('#chat-retry')).toBe(true);
      await page.reload();
      expect(await alert.locator('code').allInnerTexts()).toEqual(alertCodes);
      expect(await page.locator('#chat-log .message-assistant').count()).toBe(0);
      await supplier.clearFaults();
      expect(await checkPageInAllViewings(browser, page.url(), cookie)).toEqual(noIssues);
    });
  });

  test('interrupted response keeps its text with the alert below it', async () => {
    await supplier.addFault({ times: 1, fault: { kind: 'cut', after: 6 } });
    await openThread(await startConversation(), async (page) => {
      await page.fill('#chat-message', 'Long [[tokens=40]] [[pace=0]]');
      await page.click('#chat-send');
      await page.getByRole('alert').filter({ hasText: 'The answer broke off.' }).waitFor();
      expect(await page.locator('#chat-log .message-assistant [data-said]').innerText()).not.toBe('');
      expect(await page.locator('#chat-log .message-assistant [role=alert]').count()).toBe(0);
    });
  });

  test('turn by keyboard is sent, rendered as it streams and announced once with its cost', async () => {
    await openThread(await startConversation(), async (page) => {
      await page.focus('#chat-message');
      await page.keyboard.type('Hello [[echo=**well** met]]');
      await page.keyboard.press('Control+Enter');
      await page.waitForSelector('.message-assistant .message-foot > span:not(.route)');
      expect(await page.locator('#chat-log .message-assistant strong').innerText()).toBe('well');
      expect(await page.locator('#chat-log .message-assistant .message-foot').innerText()).toMatch(
        /tokens?\s*\$0/,
      );
      expect(await page.locator('#chat-log').getAttribute('aria-live')).toBe('off');
      expect(await page.locator('#chat-log').getAttribute('aria-busy')).toBe('false');
      // The announcer is emptied and written in the next frame, so that equal texts are announced again.
      await page.waitForSelector('#announcer:text-is("Answer complete")', { state: 'attached' });
      expect(await page.evaluate('document.activeElement.id')).toBe('chat-message');
      await page.reload();
      expect(await page.locator('#chat-log .message-assistant strong').innerText()).toBe('well');
    });
  });

  test('rejected message is restored to the field with its images and is sent once', async () => {
    const thread = await startConversation();
    await sendMessage(thread, 'Before [[echo=early]]');
    await openThread(thread, async (page) => {
      const sentTurns: unknown[] = [];
      let isDown = true;
      await page.route('**/api/chat/*', async (route) => {
        const { turn, content } = route.request().postDataJSON() as { turn: string; content: string };
        sentTurns.push([turn, content]);
        await (isDown ? route.abort() : route.continue());
      });
      await page.fill('#chat-message', 'Hello [[echo=well met]]');
      const picture = { name: 'pier.png', mimeType: 'image/png', buffer: onePixelPng };
      await page.setInputFiles('#chat-file', picture);
      await page.locator('#chat-chips li', { hasText: 'pier.png' }).waitFor();
      await page.click('#chat-send');
      await page
        .getByRole('alert')
        .filter({ hasText: 'Your message was not sent. No answer arrived.' })
        .waitFor();
      expect(await page.inputValue('#chat-message')).toBe('Hello [[echo=well met]]');
      expect(await page.locator('#chat-chips').innerText()).toBe('pier.png');
      expect(await page.locator('#chat-log .message-user').count()).toBe(1);
      expect(await page.isVisible('#chat-retry')).toBe(false);
      isDown = false;
      await page.click('#chat-send');
      await page.locator('#chat-log .message-assistant [data-said]', { hasText: 'well met' }).waitFor();
      expect(sentTurns[1]).toEqual(sentTurns[0]);
      await page.waitForSelector('#chat-send:not([hidden])');
      expect(await page.inputValue('#chat-message')).toBe('');
      await page.reload();
      expect(await page.locator('#chat-log .message-user').count()).toBe(2);
      expect(await page.locator('#chat-log .message-user').last().innerText()).toContain('pier.png');
    });
  });

  test('rejected first message is not lost with its page', async () => {
    await openThread('/dashboard/webchat', async (page) => {
      await page.route('**/api/chat/*', (route) => route.abort());
      await page.fill('#chat-message', 'Hello [[echo=at last]]');
      await page.click('#chat-start .button-primary');
      await page.waitForURL(/\/dashboard\/webchat\/\d+$/);
      await page
        .getByRole('alert')
        .filter({ hasText: 'Your message was not sent. No answer arrived.' })
        .waitFor();
      await page.unroute('**/api/chat/*');
      await page.reload();
      await until(async () => (await page.inputValue('#chat-message')) !== '');
      expect(await page.inputValue('#chat-message')).toBe('Hello [[echo=at last]]');
      await page.click('#chat-send');
      await page.locator('#chat-log .message-assistant [data-said]', { hasText: 'at last' }).waitFor();
    });
  });

  test('Escape stops a response: its text stays, is marked and charged, and can be regenerated', async () => {
    await openThread(await startConversation(), async (page) => {
      await page.fill('#chat-message', 'Slow [[tokens=60]] [[pace=60]]');
      await page.click('#chat-send');
      await page.waitForSelector('#chat-log .message-assistant [data-said] p');
      expect(await page.isVisible('#chat-stop')).toBe(true);
      await page.keyboard.press('Escape');
      await page.waitForSelector('#chat-send:not([hidden])');
      await page.waitForSelector('#chat-log .message-assistant .badge:has-text("stopped")');
      expect(await page.locator('#chat-log .message-assistant .message-foot').innerText()).toContain('$0');
      await page.click('#chat-retry button');
      await page.locator('#chat-log .message-assistant').nth(1).waitFor();
      await page.keyboard.press('Escape');
      await page.waitForSelector('#chat-send:not([hidden])');
    });
  });

  test('feedback is set and withdrawn in place, and changing the model needs no button', async () => {
    const thread = await startConversation();
    await sendMessage(thread, 'Hello [[echo=well met]]');
    await openThread(thread, async (page) => {
      const thumbUp = page.locator('#chat-log [data-thumb=up]');
      await thumbUp.focus();
      await page.keyboard.press('Enter');
      await page.waitForSelector('#chat-log [data-thumb=up][aria-pressed=true]');
      await page.click('#chat-log [data-thumb=down]');
      await page.waitForSelector('#chat-log [data-thumb=down][aria-pressed=true]');
      expect(await thumbUp.getAttribute('aria-pressed')).toBe('false');
      await page.click('#chat-log [data-thumb=down]');
      await page.waitForSelector('#chat-log [data-thumb=down][aria-pressed=false]');
      expect(await page.isVisible('#chat-model-change')).toBe(false);
      await page.selectOption('#chat-model', 'auto');
      await page.waitForSelector('.chat-divider:has-text("From here auto answers")');
      await page.fill('#chat-message', 'And now? [[echo=chosen]]');
      await page.click('#chat-send');
      await page.waitForSelector('#chat-log .message-why:has-text("auto chose sim-")');
      expect(await page.locator('#chat-log [data-author]').last().innerText()).toMatch(/^sim-/);
      expect(await page.title()).toContain('Hello');
    });
  });

  test('long conversation opens at its end on a narrow screen with its list a link away', async () => {
    const thread = await startConversation();
    await sendMessage(thread, 'Long [[tokens=600]]');
    await withPage(browser, { theme: 'dark', width: 360 }, async (page, context) => {
      await setSession(context);
      await page.goto(app.url + thread, { waitUntil: 'load' });
      await until(() =>
        page.evaluate<boolean>('scrollY + innerHeight > document.documentElement.scrollHeight - 200'),
      );
      expect(await page.isVisible('.chat-list')).toBe(false);
      await page.evaluate('scrollTo(0, 0)');
      await page.click('.chat-to-list');
      expect(await page.isVisible('.chat-list')).toBe(true);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    });
  });

  test('hostile response causes no harm, loads nothing and stays readable', async () => {
    const thread = await startConversation();
    await openThread(thread, async (page) => {
      const foreignRequests: string[] = [];
      const consoleErrors: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(app.url) && !request.url().startsWith('data:'))
          foreignRequests.push(request.url());
      });
      page.on('console', (message) => {
        if (message.type() === 'error') consoleErrors.push(message.text());
      });
      await page.fill('#chat-message', `Be evil [[echo=${hostileText}]]`);
      await page.click('#chat-send');
      await page.waitForSelector('#chat-log .message-assistant [data-said] code');
      await page.waitForSelector('#chat-send:not([hidden])');
      const responseText = page.locator('#chat-log .message-assistant [data-said]');
      expect(await page.evaluate('window.harmed')).toBeUndefined();
      expect(
        await responseText.locator('script, img, form, input, style, svg:not(.icon), iframe').count(),
      ).toBe(0);
      expect(await responseText.locator('a').count()).toBe(1);
      const link = responseText.locator('a');
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow');
      expect(await link.innerText()).toContain('evil.example');
      expect(await responseText.innerText()).toContain('<script>window.harmed = 1</script>');
      expect(await responseText.locator('code').innerText()).toContain('const safe = "<b>";');
      await page.reload();
      expect(await page.evaluate('window.harmed')).toBeUndefined();
      expect(await responseText.locator('script, img, form, input, style, iframe').count()).toBe(0);
      expect([foreignRequests, consoleErrors]).toEqual([[], []]);
    });
  });

  test('chat page loads at most 64 KB of compressed scripts and styles', async () => {
    const thread = await startConversation();
    const { gzipSync } = await import('node:zlib');
    await openThread(thread, async (page) => {
      const addresses = await page.evaluate<string[]>(
        `[...document.querySelectorAll('script[src], link[rel=stylesheet]')].map((part) => part.src || part.href)`,
      );
      let bytes = 0;
      for (const address of addresses)
        bytes += gzipSync(Buffer.from(await (await fetch(address)).arrayBuffer())).length;
      expect(addresses.length).toBeGreaterThan(5);
      expect(bytes).toBeLessThan(64_000);
    });
  });
});
