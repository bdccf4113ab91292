{{/* NetworkPolicies: who may reach a component, and what it may reach. Everything else is forbidden. */}}

{{/* PORT of an address such as HOST:PORT or SCHEME://HOST:PORT/PATH. */}}
{{- define "riffle.portOf" -}}
{{- $place := .address | splitList "," | first | trimPrefix "openai+" | trimPrefix "http://" | trimPrefix "https://" | splitList "/" | first -}}
{{- if contains ":" $place -}}
{{- $place | splitList ":" | last -}}
{{- else -}}
{{- .default -}}
{{- end -}}
{{- end -}}

{{/* PORT of an address with a scheme, by default that of the scheme. */}}
{{- define "riffle.portOfUrl" -}}
{{- include "riffle.portOf" (dict "address" . "default" (ternary "443" "80" (contains "https://" .))) -}}
{{- end -}}

{{/* The peers of an address that a value names: without them a policy would close the way to it. `peers`, `value`: its name. */}}
{{- define "riffle.peersOf" -}}
{{- if and .root.Values.networkPolicy.enabled (not .peers) -}}
{{- fail (printf "%s is empty: name the peers behind the address, such as [{ipBlock: {cidr: 203.0.113.7/32}}], or disable networkPolicy" .value) -}}
{{- end -}}
{{- toJson .peers -}}
{{- end -}}

{{- define "riffle.egressTo" -}}
- to:
    {{- toYaml .peers | nindent 4 }}
  ports:
    {{- range .ports }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
{{- end -}}

{{- define "riffle.componentPeer" -}}
podSelector:
  matchLabels:
    {{- include "riffle.selectorLabels" . | nindent 4 }}
{{- end -}}

{{/* A policy's spec. `stores`: what the component reaches. `ingress`: YAML of its ingress rules. `public`: it leaves the cluster. */}}
{{- define "riffle.networkPolicySpec" -}}
{{- $v := .root.Values -}}
podSelector:
  matchLabels:
    {{- include "riffle.selectorLabels" . | nindent 4 }}
policyTypes: [Ingress, Egress]
{{- /* An empty list is not stored: applied again, it would be a change each time. Without rules nothing is allowed. */}}
{{- with .ingress }}
ingress:
  {{- . | nindent 2 }}
{{- end }}
{{- $extra := concat (index $v.networkPolicy.extraEgress "all" | default list) (index $v.networkPolicy.extraEgress .component | default list) }}
{{- if or .stores $extra }}
egress:
  - to:
      {{- toYaml $v.networkPolicy.dnsPeers | nindent 6 }}
    ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
  {{- if has "kafka" .stores }}
  {{- include "riffle.egressTo" (dict "peers" $v.kafka.peers "ports" (list (include "riffle.portOf" (dict "address" $v.kafka.bootstrap "default" "9092")))) | nindent 2 }}
  {{- end }}
  {{- if and (has "kafka" .stores) (eq $v.kafka.sasl.mechanism "OAUTHBEARER") }}
  {{- $peers := include "riffle.peersOf" (dict "root" .root "peers" $v.kafka.sasl.tokenPeers "value" "kafka.sasl.tokenPeers") | fromJsonArray }}
  {{- include "riffle.egressTo" (dict "peers" $peers "ports" (list (include "riffle.portOfUrl" $v.kafka.sasl.tokenUrl))) | nindent 2 }}
  {{- end }}
  {{- if and (has "kafka" .stores) (eq $v.kafka.sasl.mechanism "AWS_MSK_IAM") (not $v.kafka.sasl.existingSecret) }}
  {{- $peers := include "riffle.peersOf" (dict "root" .root "peers" $v.kafka.sasl.tokenPeers "value" "kafka.sasl.tokenPeers") | fromJsonArray }}
  {{- include "riffle.egressTo" (dict "peers" $peers "ports" (list 443 80)) | nindent 2 }}
  {{- end }}
  {{- if has "cassandra" .stores }}
  {{- include "riffle.egressTo" (dict "peers" $v.cassandra.peers "ports" (list (int $v.cassandra.port))) | nindent 2 }}
  {{- end }}
  {{- if has "qdrant" .stores }}
  {{- $port := include "riffle.portOf" (dict "address" $v.qdrant.url "default" (ternary "443" "80" (hasPrefix "https:" $v.qdrant.url))) }}
  {{- include "riffle.egressTo" (dict "peers" $v.qdrant.peers "ports" (list $port)) | nindent 2 }}
  {{- end }}
  {{- if has "triton" .stores }}
  {{- if $v.triton.enabled }}
  {{- $peer := include "riffle.componentPeer" (dict "root" .root "component" "triton") | fromYaml }}
  {{- include "riffle.egressTo" (dict "peers" (list $peer) "ports" (list 8001)) | nindent 2 }}
  {{- else }}
  {{- $port := contains "://" $v.triton.url | ternary (include "riffle.portOfUrl" $v.triton.url) (include "riffle.portOf" (dict "address" $v.triton.url "default" "8001")) }}
  {{- include "riffle.egressTo" (dict "peers" (required "triton.peers is empty: name the peers of your Triton, or disable networkPolicy" $v.triton.peers) "ports" (list $port)) | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- if has "query-embedding" .stores }}
  {{- $peer := include "riffle.componentPeer" (dict "root" .root "component" "query-embedding") | fromYaml }}
  {{- include "riffle.egressTo" (dict "peers" (list $peer) "ports" (list 8001)) | nindent 2 }}
  {{- end }}
  {{- if has "gateway" .stores }}
  {{- $peer := include "riffle.componentPeer" (dict "root" .root "component" "gateway") | fromYaml }}
  {{- include "riffle.egressTo" (dict "peers" (list $peer) "ports" (list 8080)) | nindent 2 }}
  {{- end }}
  {{- if and (or (has "setup" .stores) (has "models" .stores)) $v.triton.repository.objectStore.peers (eq $v.triton.repository.source "objectStore") }}
  {{- include "riffle.egressTo" (dict "peers" $v.triton.repository.objectStore.peers "ports" (list 443)) | nindent 2 }}
  {{- end }}
  {{- if and (has "answers" .stores) $v.answers.url }}
  {{- $peers := include "riffle.peersOf" (dict "root" .root "peers" $v.answers.peers "value" "answers.peers") | fromJsonArray }}
  {{- include "riffle.egressTo" (dict "peers" $peers "ports" (list (include "riffle.portOfUrl" $v.answers.url))) | nindent 2 }}
  {{- end }}
  {{- if and $v.runtime.otlpEndpoint .stores }}
  {{- $peers := include "riffle.peersOf" (dict "root" .root "peers" $v.runtime.otlpPeers "value" "runtime.otlpPeers") | fromJsonArray }}
  {{- include "riffle.egressTo" (dict "peers" $peers "ports" (list (include "riffle.portOf" (dict "address" $v.runtime.otlpEndpoint "default" "4318")))) | nindent 2 }}
  {{- end }}
  {{- if and .public $v.crawl.proxy }}
  # The public internet through the egress proxy alone.
  {{- $peers := include "riffle.peersOf" (dict "root" .root "peers" $v.crawl.proxyPeers "value" "crawl.proxyPeers") | fromJsonArray }}
  {{- include "riffle.egressTo" (dict "peers" $peers "ports" (list (include "riffle.portOfUrl" $v.crawl.proxy))) | nindent 2 }}
  {{- else if .public }}
  # The public internet: HTTPS alone, and none of the networks that the application's own guard refuses.
  {{- $denied := .root.Files.Get "files/denied-networks.yaml" | fromYaml }}
  {{- $more := $v.networkPolicy.fetch.denied }}
  - to:
      - ipBlock:
          cidr: 0.0.0.0/0
          except:
            {{- range $denied.ipv4 }}
            - {{ . }}
            {{- end }}
            {{- range $more }}
            {{- if not (contains ":" .) }}
            - {{ . }}
            {{- end }}
            {{- end }}
      {{- if $v.networkPolicy.fetch.ipv6 }}
      - ipBlock:
          cidr: {{ $denied.globalUnicast }}
          except:
            {{- range $denied.ipv6 }}
            - {{ . }}
            {{- end }}
            {{- range $more }}
            {{- if contains ":" . }}
            - {{ . }}
            {{- end }}
            {{- end }}
      {{- end }}
    ports: [{protocol: TCP, port: 443}{{ if $v.crawl.allowedOrigins }}, {protocol: TCP, port: 80}{{ end }}]
  {{- end }}
  {{- if .public }}
  {{- with $v.crawl.allowedNetworks }}
  # Networks that the operator named. The application's guard lets only the allowed origins reach them.
  - to:
      {{- range . }}
      - ipBlock: {cidr: {{ . | quote }}}
      {{- end }}
  {{- end }}
  {{- end }}
  {{- with $extra }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Ingress from Prometheus to a port. */}}
{{- define "riffle.metricsIngress" -}}
- from:
    {{- toYaml .root.Values.networkPolicy.monitoringPeers | nindent 4 }}
  ports: [{protocol: TCP, port: {{ .port }}}]
{{- end -}}
