// A participant of a session that uses only an official client.
//
// This module hides the differences between the two packages, the protocol versions and the
// transports from the cycle.

import { createRequire } from "node:module";

// NODE_PATH names the folder of the packages.
const require = createRequire(import.meta.url);

/** The version without a handshake; earlier versions have one. */
export const MODERN = "2026-07-28";
/** Timeout of a notification, in milliseconds. */
const NOTIFICATION_MAX = 15_000;

/** The classes of a package: `client` supports all versions, `sdk` is its predecessor. */
const packages = {
  client: () => ({
    ...require("@modelcontextprotocol/client"),
    ...require("@modelcontextprotocol/client/stdio"),
    ...require("@modelcontextprotocol/client/ext/skills"),
  }),
  sdk: () => ({
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
  }),
};

export class Participant {
  #api;
  #client;
  #transport;
  #subscription;
  #notifications = [];
  #notified = () => {};

  /** Connects with `credential` over `{api, version, server}`, with `program` for stdio. */
  static async connect(connection, credential) {
    const participant = new Participant();
    await participant.#open(connection, credential);
    return participant;
  }

  async #open({ api, version, server, program }, credential) {
    this.#api = packages[api]();
    const mode = version === MODERN ? { pin: version } : "legacy";
    // `sdk` ignores both options and uses the newest legacy version.
    const options = { versionNegotiation: { mode }, supportedProtocolVersions: [version] };
    this.#client = new this.#api.Client({ name: "stranger", version: "1" }, options);
    this.#client.fallbackNotificationHandler = async (notification) => {
      this.#notifications.push(notification);
      this.#notified();
    };
    this.#transport = program
      ? new this.#api.StdioClientTransport({
          command: program,
          args: ["mcp"],
          env: { SHARED_CONTEXT_URL: server, SHARED_CONTEXT_TOKEN: credential },
        })
      : new this.#api.StreamableHTTPClientTransport(new URL(`${server}/mcp`), {
          requestInit: { headers: { Authorization: `Bearer ${credential}` } },
        });
    await this.#client.connect(this.#transport);
    // `sdk` reports the version over HTTP only.
    this.version =
      this.#client.getNegotiatedProtocolVersion?.() ?? this.#transport.protocolVersion;
    this.name = this.#client.getServerVersion()?.name;
  }

  async tools() {
    return (await this.#client.listTools()).tools;
  }

  /** Calls a tool, which must reply in text and in data. */
  async call(name, args) {
    const result = await this.#client.callTool({ name, arguments: args });
    const isWhole = result.content[0].text && result.structuredContent;
    if (!isWhole) throw new Error(`text or data is missing: ${JSON.stringify(result)}`);
    return { isError: result.isError ?? false, ...result.structuredContent };
  }

  /** Calls a tool. It must succeed. */
  async useTool(name, args = {}) {
    const { isError, ...reply } = await this.call(name, args);
    if (isError) throw new Error(JSON.stringify(reply));
    return reply;
  }

  async keys() {
    return (await this.useTool("context_list")).keys.map((entry) => entry.key);
  }

  async read(key) {
    return (await this.useTool("context_read", { keys: [key] })).entries[0].value;
  }

  async write(key, value) {
    return (await this.useTool("context_write", { key, value })).written_by;
  }

  async resources() {
    return (await this.#client.listResources()).resources.map((resource) => resource.uri);
  }

  async templates() {
    const { resourceTemplates } = await this.#client.listResourceTemplates();
    return resourceTemplates.map((template) => template.uriTemplate);
  }

  async resource(uri) {
    return (await this.#client.readResource({ uri })).contents[0];
  }

  async prompts() {
    return (await this.#client.listPrompts()).prompts.map((prompt) => prompt.name);
  }

  async prompt(name, args) {
    return (await this.#client.getPrompt({ name, arguments: args })).messages[0].content.text;
  }

  async complete(uri, name, value) {
    const ref = { type: "ref/resource", uri };
    return (await this.#client.complete({ ref, argument: { name, value } })).completion.values;
  }

  /** Returns the subscription and logging capabilities of the server. */
  offered() {
    const { resources, logging } = this.#client.getServerCapabilities();
    return [resources.subscribe, logging];
  }

  /** Subscribes to `uris` and returns those that the server accepted. */
  async subscribe(uris) {
    if (this.version === MODERN) {
      const filter = { resourceSubscriptions: uris, resourcesListChanged: true };
      this.#subscription = await this.#client.listen(filter);
      return this.#subscription.honoredFilter.resourceSubscriptions;
    }
    for (const uri of uris) await this.#client.subscribeResource({ uri });
    return uris;
  }

  async unsubscribe(uris) {
    if (this.#subscription) {
      await this.#subscription.close();
      return this.#subscription.closed;
    }
    for (const uri of uris) await this.#client.unsubscribeResource({ uri });
    return "local";
  }

  /** Waits for the notification that the resource `uri` changed. */
  async waitForUpdate(uri) {
    const isUpdate = ({ method, params }) =>
      method === "notifications/resources/updated" && params.uri === uri;
    const deadline = AbortSignal.timeout(NOTIFICATION_MAX);
    while (!this.#notifications.some(isUpdate)) {
      await new Promise((resolve, reject) => {
        this.#notified = resolve;
        deadline.onabort = () =>
          reject(new Error(`notified only of ${JSON.stringify(this.#notifications)}`));
      });
    }
    return uri;
  }

  /** Returns the skills, each with its file as verified by the client; `sdk` has no skills. */
  async skills() {
    const client = new this.#api.SkillsClient(this.#client);
    const { skills } = await client.list();
    const read = async (skill) => ({ uri: skill.uri, file: await client.read(skill) });
    return Promise.all(skills.map(read));
  }

  /** Ends the MCP session, if there is one, and disconnects. */
  async leave() {
    await this.#transport.terminateSession?.();
    await this.#client.close();
  }
}
